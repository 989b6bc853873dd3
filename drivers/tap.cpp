// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_tap: a network interface that it makes. Packets that the kernel sends out there are received
/// here, and packets sent here are received by the kernel. For laptops and tests, and for rte_flow without a
/// NIC: its rules are tc flower's.
///
/// Facts (drivers/net/tap of DPDK 22.11): there are as many receive as transmit queues, at most 16; without
/// rules the kernel distributes flows over them. Rules match packets that the kernel sends out of the
/// interface. Isolation drops the rest there, but only if it is requested once the queues are set up
/// (tap_flow_isolate returns 0 and makes no rule before, and afterwards takes it as done). No COUNT. ethdev's
/// own MTU is always 1500 and without effect, the interface's counts. Each queue keeps a chain of as many
/// mbufs as it has descriptors. Data is announced by a real-time signal of the descriptor; when their queue
/// is full the kernel sends SIGIO, which would end the process. The port's MAC address is that of the
/// interface, so both ends would have the same.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <linux/capability.h>
#include <unistd.h>

#include "drivers/common.hpp"
#include "drivers/flower.hpp"
#include "drivers/table.hpp"
#include "port/netdev.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kMaxQueues = 16;     // RTE_PMD_TAP_MAX_QUEUES
constexpr std::uint16_t kDescriptors = 512;  // mbufs waiting in each queue
constexpr std::uint32_t kLeastMtu = 1500;
constexpr std::uint32_t kLargestMtu = 65521;  // ETH_MAX_MTU of tun, less the Ethernet header

class Tap final : public port::Driver {
  public:
    std::string_view name() const override { return "net_tap"; }

    /// Returns true: the PMD reports that the kernel cannot do rte_flow (plan() checks that), and that there
    /// is no secondary process.
    bool complains() const override { return true; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.steering = port::Steering::rte_flow;
        c.isolation = true;
        c.membership = port::Membership::own_host;
        c.rx_interrupt = true;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.max_rx_frame = c.max_tx_frame = kLargestMtu + port::kEthernetHeader;
        return c;
    }

    std::uint16_t grant_queues(const port::PortRequest& request) const override {
        const bool rules = why_no_flower().empty();
        return std::min<std::uint16_t>(request.rx_queues, rules ? kMaxQueues : std::uint16_t{1});
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

    /// Sets the interface's MTU, which limits the kernel's packets. The interface exists from here on.
    void attached(const port::PreparedDevice& plan) const override {
        std::signal(SIGIO, SIG_IGN);
        port::set_netdev_mtu(plan.peer_netdev, plan.netdev_mtu);
    }
};

std::string interface_of(const port::DeviceString& device) {
    return device.find("iface").value_or(fmt::format("d{}", device.name().substr(4)));
}

void check_interface(const port::PortRequest& request, const std::string& interface) {
    const auto where = port::where(request);
    if (::access("/dev/net/tun", F_OK) != 0) {
        throw_error(where, "net_tap needs /dev/net/tun, which is not there: run `modprobe tun`");
    }
    if (!port::has_capability(CAP_NET_ADMIN) || ::access("/dev/net/tun", R_OK | W_OK) != 0) {
        throw_error(where,
                    "net_tap needs CAP_NET_ADMIN and /dev/net/tun to make its interface {}: run as root, or "
                    "`setcap cap_net_raw,cap_net_admin+ep` on the program",
                    interface);
    }
    const auto there = port::netdev_facts(interface);
    if (there && there->running && !request.exists) {
        throw_error(where,
                    "the interface {} is the tap of another process, which would lose packets to this one; "
                    "give another name with iface=NAME",
                    interface);
    }
    if (there && !request.exists && !std::filesystem::exists("/sys/class/net/" + interface + "/tun_flags")) {
        throw_error(where,
                    "net_tap makes the interface {}, and another interface of that name exists; give another "
                    "name with iface=NAME",
                    interface);
    }
}

port::PreparedDevice Tap::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"iface", "remote", "mac"});
    check_mtu(request);
    const std::string interface = interface_of(device);
    check_interface(request, interface);
    const std::uint16_t queues = std::max({request.rx_queues, request.tx_queues, std::uint16_t{1}});
    if (queues > kMaxQueues) {
        throw_usage(where, "{} has {} queues, and {} are needed; use fewer lcores or senders", device.name(),
                    kMaxQueues, queues);
    }
    if (!device.has("iface") && !request.exists) {
        device.add("iface", interface);
    }

    if (request.vlan && request.rx_queues > 0 && why_no_flower().empty()) {
        throw_error(where,
                    "{} cannot select VLAN {}: DPDK 22.11 makes wrong rules of it (the number's bytes are "
                    "swapped, and rules without a VLAN conflict); leave vlan out",
                    device.name(), *request.vlan);
    }

    auto plan = start_plan(*this, request, device);
    plan.kept = {CAP_NET_ADMIN};
    plan.peer_netdev = interface;
    if (const std::string& reason = why_no_flower(); !reason.empty()) {
        plan.capabilities.steering = port::Steering::software;
        plan.capabilities.isolation = false;
        if (request.rx_queues > 0) {
            plan.remarks.push_back(fmt::format("{}: steering by software, {}", where, reason));
        }
    }
    plan.rx_queues = plan.tx_queues = queues;
    count_pools(plan, request);
    plan.netdev_mtu = std::max({request.mtu, kLeastMtu,
                                request.max_tx_packet == 0 ? 0 : port::mtu_of(request.max_tx_packet),
                                request.rx_queues == 0 ? 0 : port::mtu_of(request.max_rx_packet)});
    if (plan.netdev_mtu > kLargestMtu) {
        throw_usage(where, "an MTU of {} is needed, and {} is the largest of {}; lower the packet size",
                    plan.netdev_mtu, kLargestMtu, device.name());
    }
    plan.own_mac = true;
    plan.isolates_with_queues = true;
    plan.devargs = device.text();
    plan.capabilities.link_frame = plan.netdev_mtu + port::kEthernetHeader + port::kVlanTags;
    const std::uint32_t room = port::data_room_of(
        std::min(plan.capabilities.link_frame,
                 request.rx_queues == 0 ? kLeastMtu : port::rx_frame_of(request.max_rx_packet)));
    // The queue's own chain, on top of what is being worked on.
    const std::uint32_t parts = (queues + plan.rx_pools - 1U) / std::max<std::uint32_t>(plan.rx_pools, 1);
    plan.rx = port::queue_sizes(
        kDescriptors, port::copying_rx_mbufs(1, kPoolCache) + parts * (kDescriptors + 1U), room, kPoolCache);
    plan.tx = copying_tx(request);
    return plan;
}

}  // namespace

const port::Driver& tap() {
    static const auto& driver = *new const Tap;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
