// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_kernel: receives through ordinary UDP sockets of the kernel, without any privilege.
///
/// DPDK has no such PMD. The device is one of net_null, called net_null_kernel0 for net_kernel0: EAL finds a
/// PMD by the beginning of the name. Its receive queues are given to KernelSockets.
///
/// Facts (drivers/net/null of DPDK 22.11): without copy=1, rx_burst returns as many mbufs of the queue's pool
/// as are asked for, or none, and sets their lengths and port only; it reports up to 1024 queues.
#include "drivers/common.hpp"
#include "drivers/kernel_sockets.hpp"
#include "drivers/table.hpp"
#include "recv/kernel_socket.hpp"

namespace spead::drivers {

namespace {

constexpr std::string_view kName = "net_kernel";
/// Holds the longest payload that fits into an mbuf with its headers, and one byte more.
constexpr std::uint32_t kMostPayload = port::kMaxDataRoom - port::kHeadroom - port::frame_of(1);

class Kernel final : public port::Driver {
  public:
    std::string_view name() const override { return kName; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.steering = port::Steering::sockets;
        c.membership = port::Membership::rules;
        c.rx_interrupt = true;
        c.receives_only = true;
        c.counts_packets = false;
        c.max_rx_frame = port::frame_of(kMostPayload);
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

    void apply(port::PreparedDevice& device) const override {
        // A plan may be opened several times.
        device.held = std::make_shared<KernelSockets>(sockets_of(device).options(), device.rx_queues);
    }

    std::unique_ptr<port::RuleTable> make_rules(const port::PreparedDevice& device) const override {
        return sockets_of(device).receive_from(device.name);
    }
    std::uint64_t take_missed(const port::PreparedDevice& device) const override {
        return device.held ? sockets_of(device).take_missed() : 0;
    }
    std::optional<std::vector<int>> event_descriptors(const port::PreparedDevice& device) const override {
        return sockets_of(device).descriptors();
    }

  private:
    static KernelSockets& sockets_of(const port::PreparedDevice& device) {
        return *static_cast<KernelSockets*>(device.held.get());
    }
};

port::PreparedDevice Kernel::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    const auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"iface"});
    if (device.name().find_first_not_of("0123456789", kName.size()) != std::string::npos)
        throw_usage(where, "{} has no number after {}; name it {}0", device.name(), kName, kName);
    if (request.exists)
        throw_usage(where, "EAL cannot make {}; leave it out of EAL's options", device.name());
    if (request.tx_queues > 0)
        throw_usage(where,
                    "{} only receives; send through a port of another device, such as "
                    "net_af_packet0,iface=veth0",
                    device.name());
    if (request.vlan)
        throw_usage(where,
                    "{} in VLAN {}: the kernel takes tags off; name the network interface of that VLAN with "
                    "iface=, without a VLAN",
                    device.name(), *request.vlan);
    if (request.named(request.max_rx_packet) > kMostPayload)
        throw_usage(where, "{} receives payloads of up to {} bytes; lower the stream's max_packet_size ({})",
                    device.name(), kMostPayload, request.named(request.max_rx_packet));
    const std::string interface = device.find("iface").value_or("");
    static_cast<void>(recv::interface_number(interface, where));

    auto plan = start_plan(*this, request, device);
    plan.name = fmt::format("net_null_{}", device.name().substr(std::string_view("net_").size()));
    plan.devargs = plan.name;
    count_pools(plan, request);
    plan.rx = port::queue_sizes(request.rx_queues == 0 ? std::uint16_t{0} : std::uint16_t{512},
                                port::copying_rx_mbufs(1, kPoolCache),
                                port::data_room_of(port::frame_of(request.max_rx_packet + 1)), kPoolCache);
    // The kernel's books of a packet double what the buffers take.
    plan.outside_bytes = request.rx_queues == 0 ? 0 : 2 * request.buffer_size;
    // Sockets wait for it, so that is no reason to refuse it.
    if (const auto facts = port::netdev_facts(interface); facts && !facts->up)
        plan.remarks.push_back(
            fmt::format("{}: the network interface {} is down, so nothing comes; run `ip link set {} up`",
                        where, interface, interface));
    if (request.mtu != 0)
        plan.remarks.push_back(fmt::format(
            "{}: `mtu` has no effect on sockets; `ip link set dev NETDEV mtu {}` sets that of an interface",
            where, request.mtu));
    plan.held = std::make_shared<KernelSockets>(
        KernelSockets::Options{interface, request.buffer_size, request.max_rx_packet, where});
    return plan;
}

}  // namespace

const port::Driver& kernel() {
    static const auto& driver = *new const Kernel;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
