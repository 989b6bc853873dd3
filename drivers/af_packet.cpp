// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_af_packet: any network interface of the kernel, through packet sockets with memory-mapped
/// rings.
///
/// Facts (drivers/net/af_packet of DPDK 22.11, packet(7)): one socket per queue pair, all in one
/// PACKET_FANOUT_HASH group, so every pair receives some packets and all must be read. A frame lives in a
/// slot of `framesz` bytes: 32 of them are lost when sending (larger frames vanish silently), 66 when
/// receiving (larger frames are cut silently). blocksz is a multiple of framesz and of the page, framecnt of
/// the frames in a block. Queue setup wants mbufs of framesz - 32 bytes. The kernel drops frames above the
/// netdev's MTU, except those of a sender on this machine that relies on segmentation by its interface: veth
/// passes them whole. ethdev's own MTU is always 1500 and without effect. The rings are locked memory.
/// Starting the device writes the netdev's flags, which needs CAP_NET_ADMIN.
#include <algorithm>
#include <filesystem>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <numeric>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/netdev_mtu.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kTxOverhead = 32;  // TPACKET2_HDRLEN - sizeof(sockaddr_ll)
constexpr std::uint32_t kRxOverhead =
    66;  // the slot's header, and the frame placed so that its IP header is aligned
constexpr std::uint32_t kSlotAlignment = 16;  // TPACKET_ALIGNMENT
constexpr std::uint32_t kDefaultSlot = 2048;
constexpr std::uint32_t kDefaultSlots = 512;
constexpr std::uint32_t kLeastSlots = 64;
constexpr std::uint32_t kMostSlots = 16384;
constexpr std::uint16_t kMaxQueues = 16;

/// Holds the geometry of one queue pair's rings; the receive and the transmit ring are alike.
struct Rings {
    std::uint32_t slot = kDefaultSlot;    ///< framesz
    std::uint32_t block = 0;              ///< blocksz
    std::uint32_t slots = kDefaultSlots;  ///< framecnt

    std::uint32_t slots_per_block() const { return block / slot; }
    std::uint64_t bytes() const { return std::uint64_t{2} * slots * slot; }
};

std::uint32_t page_size() {
    return static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns the largest framesz whose frames still fit one mbuf.
std::uint32_t largest_slot() {
    return (port::kMaxDataRoom - port::kHeadroom + kTxOverhead) / page_size() * page_size();
}

/// Returns the packet sockets of this process on the interface: one per queue, made in the order of the
/// queues.
std::vector<int> sockets_of(const port::PreparedDevice& plan) {
    const unsigned index = ::if_nametoindex(plan.netdev.c_str());
    std::vector<int> sockets;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const int fd = std::stoi(entry.path().filename().string());
        sockaddr_ll address{};
        socklen_t length = sizeof address;
        if (index != 0 && ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
            address.sll_family == AF_PACKET && static_cast<unsigned>(address.sll_ifindex) == index) {
            sockets.push_back(fd);
        }
    }
    std::ranges::sort(sockets);
    return sockets;
}

class AfPacket final : public port::Driver {
  public:
    std::string_view name() const override { return "net_af_packet"; }
    std::string_view alias() const override { return "eth_af_packet"; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.membership = port::Membership::kernel_socket;
        c.rx_interrupt = true;
        c.max_rx_frame = largest_slot() - kRxOverhead;
        c.max_tx_frame = largest_slot() - kTxOverhead;
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

    void apply(port::PreparedDevice& plan) const override { apply_netdev_mtu(plan); }
    void released(const port::PreparedDevice& plan) const noexcept override { restore_netdev_mtu(plan); }

    int netdev_rank() const override { return 10; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("{},iface={}", name(), netdev);
    }
    std::uint64_t take_missed(const port::PreparedDevice& plan) const override;
    std::optional<std::vector<int>> event_descriptors(const port::PreparedDevice& plan) const override {
        return sockets_of(plan);
    }

  private:
    static Rings plan_rings(port::DeviceString& device, const port::PortRequest& request,
                            std::uint32_t rx_frame, std::uint32_t queues, port::PreparedDevice& plan);
    static std::uint32_t plan_slot(port::DeviceString& device, const port::PortRequest& request,
                                   std::uint32_t rx_frame);
    static void plan_count(port::DeviceString& device, const port::PortRequest& request,
                           std::uint32_t rx_frame, std::uint32_t queues, Rings& rings,
                           port::PreparedDevice& plan);
    static std::uint16_t plan_queues(port::DeviceString& device, const port::PortRequest& request);
};

std::uint16_t AfPacket::plan_queues(port::DeviceString& device, const port::PortRequest& request) {
    const std::uint16_t needed = std::max<std::uint16_t>({request.rx_queues, request.tx_queues, 1});
    const auto given = device.number("qpairs", 1, kMaxQueues);
    if (!given && needed > 1 && !request.exists) {
        if (needed > kMaxQueues) {
            throw_usage(port::where(request),
                        "{} has at most {} queues, and {} are needed; use fewer lcores or senders",
                        device.name(), kMaxQueues, needed);
        }
        device.add("qpairs", std::to_string(needed));
        return needed;
    }
    const auto queues = static_cast<std::uint16_t>(given.value_or(1));
    if (queues < needed) {
        throw_usage(port::where(request), "{} has qpairs={}, and {} are needed; raise it", device.name(),
                    queues, needed);
    }
    return queues;
}

std::uint32_t AfPacket::plan_slot(port::DeviceString& device, const port::PortRequest& request,
                                  std::uint32_t rx_frame) {
    const auto where = port::where(request);
    const std::uint32_t sent = request.tx_queues > 0 ? tx_frame(request) : 0;
    const std::uint32_t needed =
        std::max(rx_frame == 0 ? 0 : rx_frame + kRxOverhead, sent == 0 ? 0 : sent + kTxOverhead);
    const std::uint32_t wanted = needed <= kDefaultSlot ? kDefaultSlot : port::round_up(needed, page_size());
    if (wanted > largest_slot()) {
        throw_usage(where,
                    "packets are too large for {}: receiving frames of {} bytes + {} and sending {} + {} "
                    "need a framesz of {}, and an mbuf limits it to {}; lower the packet size",
                    device.name(), rx_frame, kRxOverhead, sent, kTxOverhead, wanted, largest_slot());
    }
    const auto given = device.number("framesz", 2 * kRxOverhead, largest_slot());
    if (!given && !request.exists) {
        if (wanted != kDefaultSlot) {
            device.add("framesz", std::to_string(wanted));
        }
        return wanted;
    }
    const auto slot = static_cast<std::uint32_t>(given.value_or(kDefaultSlot));
    if (slot % kSlotAlignment != 0) {
        throw_usage(where, "framesz={} of {} is not a multiple of {}", slot, device.name(), kSlotAlignment);
    }
    if (slot < needed) {
        throw_usage(where,
                    "framesz={} of {} is too small: it holds received frames of {} bytes ({} - {}) and sent "
                    "frames of {} ({} - {}), and {} and {} are needed; give framesz={}{}",
                    slot, device.name(), slot - kRxOverhead, slot, kRxOverhead, slot - kTxOverhead, slot,
                    kTxOverhead, rx_frame, sent, wanted, request.exists ? "" : ", or leave it out");
    }
    return slot;
}

void AfPacket::plan_count(port::DeviceString& device, const port::PortRequest& request,
                          std::uint32_t rx_frame, std::uint32_t queues, Rings& rings,
                          port::PreparedDevice& plan) {
    const auto where = port::where(request);
    const std::uint32_t per_block = rings.slots_per_block();
    const auto given = device.number("framecnt", 1, 1U << 20);
    rings.slots = static_cast<std::uint32_t>(given.value_or(kDefaultSlots));
    if (given || request.exists) {
        if (rings.slots % per_block != 0) {
            throw_usage(where, "framecnt={} of {} is not a multiple of blocksz / framesz = {} / {} = {}",
                        rings.slots, device.name(), rings.block, rings.slot, per_block);
        }
        if (rings.bytes() > UINT32_MAX) {
            throw_usage(where, "framecnt={} x framesz={} x 2 of {} is more than 4 GiB", rings.slots,
                        rings.slot, device.name());
        }
        return;
    }
    rings.slots = port::round_up(
        port::slots_for(request.buffer_size, std::max(rx_frame, 64U), kDefaultSlots, kMostSlots), per_block);
    const std::uint64_t lockable = port::lockable_bytes();
    const std::uint32_t wanted = rings.slots;
    while (rings.bytes() * queues > lockable && rings.slots / 2 >= std::max(kLeastSlots, per_block)) {
        rings.slots = port::round_up(rings.slots / 2, per_block);
    }
    if (rings.bytes() * queues > lockable) {
        throw_error(where,
                    "the rings of {} take {} bytes of locked memory ({} queues x 2 x {} x {}), and `ulimit "
                    "-l` allows {}; raise it",
                    device.name(), rings.bytes() * queues, queues, rings.slots, rings.slot, lockable);
    }
    if (rings.slots != wanted) {
        plan.remarks.push_back(
            fmt::format("{}: the rings of {} hold {} frames instead of {}, because `ulimit -l` allows {} "
                        "bytes of locked memory",
                        where, device.name(), rings.slots, wanted, lockable));
    }
    if (rings.slots != kDefaultSlots) {
        device.add("framecnt", std::to_string(rings.slots));
    }
}

Rings AfPacket::plan_rings(port::DeviceString& device, const port::PortRequest& request,
                           std::uint32_t rx_frame, std::uint32_t queues, port::PreparedDevice& plan) {
    const auto where = port::where(request);
    Rings rings;
    rings.slot = plan_slot(device, request, rx_frame);
    const auto given = device.number("blocksz", 1, 1U << 30);
    if (!given && !request.exists) {
        rings.block = std::lcm(rings.slot, page_size());
        if (rings.block != page_size()) {
            device.add("blocksz", std::to_string(rings.block));
        }
    } else {
        rings.block = static_cast<std::uint32_t>(given.value_or(page_size()));
    }
    if (rings.block % rings.slot != 0 || rings.block % page_size() != 0) {
        throw_usage(
            where,
            "blocksz={} of {} is not a multiple of framesz={} and of the page size {}; give blocksz={}",
            rings.block, device.name(), rings.slot, page_size(), std::lcm(rings.slot, page_size()));
    }
    plan_count(device, request, rx_frame, queues, rings, plan);
    return rings;
}

port::PreparedDevice AfPacket::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass"});
    const auto interface = device.find("iface");
    if (!interface) {
        throw_usage(where, "{} needs iface=NAME, for example {},iface=eth0", device.name(), device.name());
    }
    (void)device.number("qdisc_bypass", 0, 1);
    const port::NetdevFacts facts = usable_interface(*interface, where);
    check_packet_socket(device.name(), where);
    if (!port::has_capability(CAP_NET_ADMIN)) {
        throw_error(where,
                    "{} needs CAP_NET_ADMIN to start on {}: run as root, or `setcap "
                    "cap_net_raw,cap_net_admin+ep` on the program",
                    device.name(), *interface);
    }

    auto plan = start_plan(*this, request, device);
    plan.kept = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK};
    plan.netdev = *interface;
    const std::uint32_t mtu = plan_netdev_mtu(request, facts, plan);
    // The PMD lets the kernel put fragments of IPv4 together (PACKET_FANOUT_FLAG_DEFRAG). If such datagrams
    // are wanted, frames may be longer than those of the link.
    const bool longer = request.reassembled_datagrams != 0;
    const std::uint32_t link_frame = mtu + port::kEthernetHeader + port::kVlanTags;
    const std::uint32_t rx_frame = request.rx_queues == 0 ? 0
                                                          : std::min(port::rx_frame_of(request.max_rx_packet),
                                                                     longer ? UINT32_MAX : link_frame);
    const std::uint16_t queues = plan_queues(device, request);
    const Rings rings = plan_rings(device, request, rx_frame, queues, plan);

    if (request.rx_queues > 0) {
        // The kernel distributes packets over all pairs: unrequested ones must be read, too.
        plan.rx_queues = queues;
    }
    count_pools(plan, request);
    plan.devargs = device.text();
    plan.capabilities.max_rx_frame = rings.slot - kRxOverhead;
    plan.capabilities.max_tx_frame = rings.slot - kTxOverhead;
    plan.capabilities.link_frame = longer ? 0 : link_frame;
    plan.outside_bytes = rings.bytes() * queues;
    plan.device_bytes += std::size_t{queues} * rings.slots * 32;
    const std::uint32_t room = port::data_room_of(rings.slot - kTxOverhead);
    const auto descriptors = static_cast<std::uint16_t>(std::min(rings.slots, 32768U));
    plan.rx = port::queue_sizes(request.rx_queues == 0 ? std::uint16_t{0} : descriptors,
                                port::copying_rx_mbufs(1, kPoolCache), room, kPoolCache);
    plan.tx = copying_tx(request);
    plan.tx.descriptors = request.tx_queues == 0 ? std::uint16_t{0} : descriptors;
    return plan;
}

std::uint64_t AfPacket::take_missed(const port::PreparedDevice& plan) const {
    std::uint64_t missed = 0;
    for (const int fd : sockets_of(plan)) {
        // Reading the counts clears them.
        tpacket_stats counts{};
        socklen_t length = sizeof counts;
        if (::getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &counts, &length) == 0) {
            missed += counts.tp_drops;
        }
    }
    return missed;
}

}  // namespace

const port::Driver& af_packet() {
    static const auto& driver = *new const AfPacket;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
