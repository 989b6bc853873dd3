// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_af_xdp: a network interface of the kernel through AF_XDP sockets, with an XDP program of our
/// own that takes only our endpoints from the kernel (xdp/steer.bpf.c).
///
/// Facts (drivers/net/af_xdp of DPDK 22.11, the kernel's AF_XDP documentation): a socket is bound to one
/// queue of the interface. Packets can only be redirected to the socket of the queue on which they arrived,
/// so every queue needs one. The PMD binds combined channels, pairs receive and transmit queues, and lays the
/// memory that it shares with the kernel over each queue's mempool. It expects slot i at base + i x object
/// size, a slot is at most a page, and the mempool's header, the mbuf, its headroom and 256 bytes of the
/// kernel's come before the frame. The kernel holds 2048 mbufs of each queue, whatever the number of
/// descriptors, and the PMD never gives them back. It loads the program given by xdp_prog= when the first
/// queue is set up; when it is closed it removes any program from the interface. Without xdp_prog= it loads
/// one that takes everything.
#include <algorithm>
#include <linux/capability.h>
#include <memory>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/netdev_mtu.hpp"
#include "drivers/table.hpp"
#include "drivers/xdp/steer.h"
#include "drivers/xdp_program.hpp"
#include "drivers/xdp_rules.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kKernelHeadroom = 256;  // XDP_PACKET_HEADROOM
constexpr std::uint32_t kSlot = port::kPage;
constexpr std::uint32_t kDataRoom = port::slot_data_room(kSlot);
constexpr std::uint32_t kMaxFrame = kDataRoom - port::kHeadroom - kKernelHeadroom;
constexpr std::uint32_t kMaxMtu = kMaxFrame - port::kEthernetHeader - port::kVlanTags;
static_assert(kMaxFrame == 3520 && kMaxMtu == 3498);

constexpr std::uint16_t kDescriptors = 2048;  // XSK_RING_CONS__DEFAULT_NUM_DESCS
/// Limits the mbufs in the kernel's transmit and completion rings, which may both be full.
constexpr std::uint32_t kMostSending = 2 * kDescriptors;
/// Holds the bytes of the four rings: fill and completion hold addresses, receive and transmit descriptors of
/// 16 bytes.
constexpr std::size_t kRingBytes = std::size_t{kDescriptors} * (2 * 8 + 8 + 16 + 16);
constexpr std::size_t kMuchMemory = std::size_t{1} << 30;

/// Returns whether the interface has no zero-copy AF_XDP. Then an empty poll needs no system call. With
/// zero-copy, the PMD without busy_budget sleeps in the kernel when the driver wants to be woken.
bool always_copies(const std::string& interface) {
    const std::string driver = kernel_driver(interface);
    return driver == "veth" || driver == "tun";
}

/// Holds the queues of the interface that the device binds.
struct Queues {
    std::uint16_t first = 0;
    std::uint16_t count = 1;
};

std::string bytes_text(std::size_t bytes) {
    return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

class AfXdp final : public port::Driver {
  public:
    std::string_view name() const override { return "net_af_xdp"; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.steering = port::Steering::xdp_map;
        c.membership = port::Membership::kernel_socket;
        c.distributes_flows = true;
        c.rx_interrupt = true;
        c.max_rx_frame = kMaxFrame;
        c.max_tx_frame = kMaxFrame;
        return c;
    }

    int netdev_rank() const override { return 20; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("{},iface={}", name(), netdev);
    }
    std::string why_not(const port::PortRequest& request, const std::string& netdev) const override;

    std::uint16_t grant_queues(const port::PortRequest& request) const override;
    port::PreparedDevice plan(const port::PortRequest& request) const override;
    void apply(port::PreparedDevice& plan) const override;
    void closing(const port::PreparedDevice& plan) const noexcept override;
    void released(const port::PreparedDevice& plan) const noexcept override;
    std::unique_ptr<port::RuleTable> make_rules(const port::PreparedDevice& plan) const override;
    std::optional<std::vector<int>> event_descriptors(const port::PreparedDevice& plan) const override {
        return plan.held ? static_cast<const XdpClaim*>(plan.held.get())->queue_sockets()
                         : std::vector<int>{};
    }

  private:
    static port::DeviceString parse(const port::PortRequest& request);
    static Queues plan_queues(const port::DeviceString& device, const port::PortRequest& request,
                              const std::string& interface, std::vector<std::string>& remarks);
    static std::uint32_t plan_mtu(const port::PortRequest& request, const port::NetdevFacts& facts,
                                  port::PreparedDevice& plan);
    static void plan_memory(const port::PortRequest& request, const std::string& interface,
                            port::PreparedDevice& plan);
};

port::DeviceString AfXdp::parse(const port::PortRequest& request) {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys(
        {"iface", "start_queue", "queue_count", "shared_umem", "xdp_prog", "busy_budget", "force_copy"});
    if (!device.has("iface")) {
        throw_usage(where, "{} needs iface=NAME, for example {},iface=eth0", device.name(), device.name());
    }
    (void)device.number("busy_budget", 0, 65535);
    (void)device.number("force_copy", 0, 1);
    if (device.number("shared_umem", 0, 1).value_or(0) != 0) {
        throw_usage(where, "shared_umem=1 of {} is not possible here: every queue has a pool of its own",
                    device.name());
    }
    return device;
}

/// Returns any reason for which a plan would be refused; planning changes nothing.
std::string AfXdp::why_not(const port::PortRequest& request, const std::string& netdev) const {
    if (const auto facts = port::netdev_facts(netdev); facts && facts->mtu > kMaxMtu) {
        return fmt::format("its MTU is {}, and XDP programs are for at most {}", facts->mtu, kMaxMtu);
    }
    port::PortRequest named = request;
    named.name.clear();
    const auto arguments = std::min(request.device.find(','), request.device.size());
    const std::string device = fmt::format("{}0,iface={}", name(), netdev);
    named.device = device + request.device.substr(arguments);
    named.exists = false;
    named.rx_queues = std::min<std::uint16_t>(request.rx_queues, 1);
    named.tx_queues = std::min<std::uint16_t>(request.tx_queues, 1);
    try {
        (void)plan(named);
    } catch (const Error& refusal) {
        const std::string text = refusal.what();
        const std::string before = named.device + ": ";
        return text.starts_with(before) ? text.substr(before.size()) : text;
    }
    return why_no_program(netdev, always_copies(netdev));
}

/// Grants the requested queues, unless the interface distributes its packets over fewer.
std::uint16_t AfXdp::grant_queues(const port::PortRequest& request) const {
    const auto device = parse(request);
    const auto count = device.number("queue_count", 1, STEER_MAX_QUEUES);
    const auto most =
        static_cast<std::uint16_t>(count.value_or(receive_queues(*device.find("iface")).combined));
    return std::min(request.rx_queues, most);
}

Queues AfXdp::plan_queues(const port::DeviceString& device, const port::PortRequest& request,
                          const std::string& interface, std::vector<std::string>& remarks) {
    const auto where = port::where(request);
    const ReceiveQueues there = receive_queues(interface);
    const auto first = device.number("start_queue", 0, STEER_MAX_QUEUES - 1);
    const auto count = device.number("queue_count", 1, STEER_MAX_QUEUES);
    const std::uint16_t needed = std::max<std::uint16_t>({request.rx_queues, request.tx_queues, 1});

    Queues queues;
    queues.first = static_cast<std::uint16_t>(first.value_or(0));
    if (queues.first >= there.all) {
        throw_error(where, "start_queue={} of {}: {} has {}, counted from 0", queues.first, device.name(),
                    interface, counted(there.all, "receive queues"));
    }
    // The PMD counts what it binds against the combined channels, wherever it starts.
    const auto most =
        std::min<std::uint16_t>(there.combined, static_cast<std::uint16_t>(there.all - queues.first));
    const std::uint16_t sensible = request.exists ? std::uint16_t{1} : request.rx_queues > 0 ? most : needed;
    queues.count = static_cast<std::uint16_t>(count.value_or(sensible));
    if (queues.count > most) {
        throw_error(where,
                    "queue_count={} of {}: {} has {} combined channels from queue {} on (`ethtool -l {}`)",
                    queues.count, device.name(), interface, most, queues.first, interface);
    }
    if (needed > queues.count) {
        throw_error(where,
                    "{} queues are needed, and {} binds {} of {}: use fewer lcores, or run `ethtool -L {} "
                    "combined {}`",
                    needed, device.name(), queues.count, interface, interface, needed);
    }
    if (queues.first + queues.count > STEER_MAX_QUEUES) {
        throw_error(where, "queues {} to {} of {} are too many: the XDP program has {}", queues.first,
                    queues.first + queues.count - 1, interface, STEER_MAX_QUEUES);
    }
    if (request.rx_queues > 0 && queues.count < there.all) {
        const std::string what = fmt::format(
            "{} distributes packets over {} receive queues, of which {} can be bound from queue {} on; "
            "packets of the others stay with the kernel",
            interface, there.all, queues.count, queues.first);
        if (!first && !count) {
            throw_error(where,
                        "{}: run `ethtool -L {} combined {}` (or `rx 1` if it has no combined channels), or "
                        "select queues with start_queue= and queue_count=",
                        what, interface, queues.count);
        }
        remarks.push_back(fmt::format("{}: {}", where, what));
    }
    return queues;
}

std::uint32_t AfXdp::plan_mtu(const port::PortRequest& request, const port::NetdevFacts& facts,
                              port::PreparedDevice& plan) {
    const auto where = port::where(request);
    const std::uint32_t sent = request.tx_queues > 0 ? port::mtu_of(request.max_tx_packet) : 0;
    if (std::max(request.mtu, sent) > kMaxMtu) {
        throw_usage(where,
                    "{} holds a frame in one page: IP packets up to {} bytes, UDP payloads up to {}; {} "
                    "bytes are needed. Lower the packet size or mtu, or use net_af_packet0,iface={}",
                    plan.name, kMaxMtu, request.named(port::payload_of_mtu(kMaxMtu)),
                    std::max(request.mtu, sent), facts.name);
    }
    if (request.rx_queues > 0 && facts.mtu > kMaxMtu && port::mtu_of(request.max_rx_packet) > kMaxMtu) {
        throw_error(
            where,
            "the MTU of {0} is {1}, so that packets of {2} bytes could come, but {3} holds a frame in one "
            "page: UDP payloads up to {4}. Give --max-packet-size {4} if none are larger, run `ip link set "
            "{0} mtu {5}`, or use net_af_packet0,iface={0}",
            facts.name, facts.mtu, request.named(request.max_rx_packet), plan.name,
            request.named(port::payload_of_mtu(kMaxMtu)), kMaxMtu);
    }
    return plan_netdev_mtu(request, facts, plan, port::this_machine(), kMaxMtu);
}

void AfXdp::plan_memory(const port::PortRequest& request, const std::string& interface,
                        port::PreparedDevice& plan) {
    const auto where = port::where(request);
    plan.rx_pools = plan.rx_queues;
    plan.rx_slot = kSlot;
    plan.rx_kept = kDescriptors + (request.tx_queues > 0 ? kMostSending : 0);
    plan.rx = port::queue_sizes(kDescriptors, plan.rx_kept + port::copying_rx_mbufs(1, kPoolCache), kDataRoom,
                                kPoolCache);
    plan.rx.pool_bytes = port::slot_pool_bytes(plan.rx.mbufs, kSlot);
    plan.tx = copying_tx(request);
    plan.tx.descriptors = kDescriptors;
    plan.outside_bytes = plan.rx_queues * kRingBytes;

    const std::uint64_t locked = std::uint64_t{plan.rx_queues} * plan.rx.mbufs * kSlot;
    if (const std::uint64_t lockable = port::lockable_bytes(); locked > lockable) {
        throw_error(where,
                    "{} shares {} of locked memory with the kernel ({} x {} x {}), and `ulimit -l` "
                    "allows {}: raise it, give the program CAP_IPC_LOCK, or lower the number of queues with "
                    "`ethtool -L {} combined N`",
                    plan.name, bytes_text(locked), counted(plan.rx_queues, "queues"), plan.rx.mbufs, kSlot,
                    bytes_text(lockable), interface);
    }
    if (locked > kMuchMemory) {
        plan.remarks.push_back(
            fmt::format("{}: {} takes {} for the {} queues of {}, all of which must be read; fewer queues "
                        "take less: `ethtool -L {} "
                        "combined N`",
                        where, plan.name, bytes_text(locked), plan.rx_queues, interface, interface));
    }
}

port::PreparedDevice AfXdp::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = parse(request);
    const std::string interface = *device.find("iface");
    if (!xdp_built()) {
        throw_error(where,
                    "{0} is not possible: dpdk-spead was built without its XDP program (meson option xdp; it "
                    "needs clang and libbpf). With another program, the kernel would lose its own traffic. "
                    "Use net_af_packet0,iface={1}",
                    device.name(), interface);
    }
    if (request.exists && !device.has("xdp_prog")) {
        throw_usage(where,
                    "EAL's --vdev makes {} without an XDP program of ours, and the kernel would lose its own "
                    "traffic: "
                    "leave --vdev out and name the port {}",
                    device.name(), device.text());
    }
    const port::NetdevFacts facts = usable_interface(interface, where);
    check_xdp_privileges(device.name(), where);
    if (!port::has_capability(CAP_NET_ADMIN)) {
        throw_error(where,
                    "{} needs CAP_NET_ADMIN to put its XDP program on {}: run as root, or `setcap "
                    "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock+ep` on the program",
                    device.name(), interface);
    }
    check_no_foreign_program(interface, where);

    auto plan = start_plan(*this, request, device);
    plan.kept = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF, CAP_PERFMON};
    if (!port::has_capability(CAP_BPF)) {
        plan.kept |= {CAP_SYS_ADMIN};  // before Linux 5.8
    }
    plan.netdev = interface;
    const std::uint32_t mtu = plan_mtu(request, facts, plan);
    const Queues queues = plan_queues(device, request, interface, plan.remarks);
    if (!request.exists) {
        if (queues.first != 0 && !device.has("start_queue")) {
            device.add("start_queue", std::to_string(queues.first));
        }
        if (queues.count != 1 && !device.has("queue_count")) {
            device.add("queue_count", std::to_string(queues.count));
        }
        if (!device.has("busy_budget") && always_copies(interface)) {
            device.add("busy_budget", "0");
        }
    }
    // Each is one socket, with both directions.
    plan.rx_queues = queues.count;
    plan.tx_queues = queues.count;
    plan_memory(request, interface, plan);
    plan.devargs = device.text();
    plan.capabilities.distributes_flows = queues.count > 1;
    plan.capabilities.link_frame = mtu + port::kEthernetHeader + port::kVlanTags;
    if (device.has("xdp_prog")) {
        plan.capabilities.steering = port::Steering::software;
        plan.remarks.push_back(fmt::format("{}: {} selects the packets of {} that the kernel keeps", where,
                                           *device.find("xdp_prog"), interface));
    }
    return plan;
}

void AfXdp::apply(port::PreparedDevice& plan) const {
    auto claim = std::make_shared<XdpClaim>(plan.netdev);
    apply_netdev_mtu(plan);
    if (plan.capabilities.steering == port::Steering::xdp_map) {
        plan.devargs += fmt::format(",xdp_prog={}", claim->program_path());
    }
    plan.held = std::move(claim);
}

void AfXdp::closing(const port::PreparedDevice& plan) const noexcept {
    if (plan.held) {
        static_cast<XdpClaim*>(plan.held.get())->remember();
    }
}

void AfXdp::released(const port::PreparedDevice& plan) const noexcept {
    if (plan.held) {
        static_cast<XdpClaim*>(plan.held.get())->release();
    }
    restore_netdev_mtu(plan);
}

std::unique_ptr<port::RuleTable> AfXdp::make_rules(const port::PreparedDevice& plan) const {
    if (plan.held) {
        static_cast<XdpClaim*>(plan.held.get())->loaded();
    }
    return plan.capabilities.steering == port::Steering::xdp_map ? make_xdp_rules(plan.netdev) : nullptr;
}

}  // namespace

const port::Driver& af_xdp() {
    static const auto& driver = *new const AfXdp;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
