// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_virtio_user: a virtio network card without a machine around it. Its backend is the kernel
/// (path=/dev/vhost-net, which makes a tap interface) or another process (path=SOCKET of vhost-user: a
/// virtual switch, or net_vhost).
///
/// Facts (drivers/net/virtio of DPDK 22.11): the backend works on EAL's memory, which it gets as files;
/// vhost-user takes 8. With more, nothing is ever sent or received, and only the log says so. User memory
/// outside EAL's cannot be sent from, so packets are copied into mbufs. A ring holds an mbuf per entry;
/// entries are a power of two. Without mergeable buffers a frame must fit one mbuf. MTU is at most 9698 (9728
/// less the headers). The ring keeps sent mbufs until it needs room. Interrupts use event descriptors.
/// server=1 waits for the backend to connect, while the port opens. The backend works on all of EAL's memory,
/// and the PMD trusts the lengths that it writes. So a process there is trusted, and the socket that we make
/// is for this user only.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <linux/capability.h>

#include "drivers/common.hpp"
#include "drivers/peer_socket.hpp"
#include "drivers/table.hpp"
#include "port/netdev.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kMaxQueues = 8;  // VIRTIO_MAX_VIRTQUEUE_PAIRS
constexpr std::uint32_t kLeastEntries = 256;
constexpr std::uint32_t kMostEntries = 1024;  // the limit of the kernel's vhost
constexpr std::uint32_t kMostMtu = 9698;
constexpr std::uint32_t kStandardMtu = 1500;

class VirtioUser final : public port::Driver {
  public:
    std::string_view name() const override { return "net_virtio_user"; }
    std::string_view alias() const override { return "virtio_user"; }
    /// Returns true: the PMD reports the MAC address that it makes up.
    bool complains() const override { return true; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.membership = port::Membership::own_host;
        c.tx_multi_segment = true;
        c.rx_interrupt = true;
        c.late_free_segments = kMostEntries - 1;
        c.max_rx_frame = c.max_tx_frame = kMostMtu + port::kEthernetHeader + port::kVlanTags;
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

  private:
    static bool check_path(const port::DeviceString& device, const port::PortRequest& request);
    static std::uint16_t plan_queues(port::DeviceString& device, const port::PortRequest& request);
    static std::uint16_t plan_entries(port::DeviceString& device, const port::PortRequest& request,
                                      std::uint32_t frame);
};

/// Returns whether the backend is the kernel.
bool VirtioUser::check_path(const port::DeviceString& device, const port::PortRequest& request) {
    namespace fs = std::filesystem;
    const auto where = port::where(request);
    const auto path = device.find("path");
    if (!path) {
        throw_usage(where, "{} needs path=/dev/vhost-net or path=SOCKET, for example {},path=/tmp/vhost.sock",
                    device.name(), device.name());
    }
    const bool server = device.number("server", 0, 1).value_or(0) != 0;
    std::error_code error;
    const auto status = fs::status(*path, error);
    if (fs::is_character_file(status)) {
        if (!port::has_capability(CAP_NET_ADMIN)) {
            throw_error(where,
                        "{} needs CAP_NET_ADMIN to make its tap interface: run as root, or `setcap "
                        "cap_net_admin+ep` on the program",
                        device.name());
        }
        return true;
    }
    if (*path == "/dev/vhost-net") {
        throw_error(where, "path={} of {} is not there: run `modprobe vhost_net`", *path, device.name());
    }
    if (!fs::exists(status) && !server) {
        throw_error(where,
                    "path={} of {}: nothing listens on this socket; start the process at the other end "
                    "(net_vhost) first, or give server=1 here",
                    *path, device.name());
    }
    if (fs::exists(status) && !fs::is_socket(status)) {
        throw_error(where, "path={} of {} is neither a socket nor /dev/vhost-net", *path, device.name());
    }
    if (fs::exists(status) && server) {
        throw_error(where,
                    "path={} of {} exists already: another process listens there (then leave out server=1), "
                    "or a former process left it behind (then remove it)",
                    *path, device.name());
    }
    if (const auto why = why_not_connect(*path); !server && why && !why->empty()) {
        throw_error(where, "{}", *why);
    }
    return false;
}

std::uint16_t VirtioUser::plan_queues(port::DeviceString& device, const port::PortRequest& request) {
    const std::uint16_t needed = std::max<std::uint16_t>({request.rx_queues, request.tx_queues, 1});
    if (needed > kMaxQueues) {
        throw_usage(port::where(request),
                    "{} has at most {} queues, and {} are needed; use fewer lcores or senders", device.name(),
                    kMaxQueues, needed);
    }
    const auto given = device.number("queues", 1, kMaxQueues);
    if (!given && needed > 1 && !request.exists) {
        device.add("queues", std::to_string(needed));
        return needed;
    }
    if (given.value_or(1) < needed) {
        throw_usage(port::where(request), "{} has queues={}, and {} are needed; raise it", device.name(),
                    given.value_or(1), needed);
    }
    return static_cast<std::uint16_t>(given.value_or(1));
}

std::uint16_t VirtioUser::plan_entries(port::DeviceString& device, const port::PortRequest& request,
                                       std::uint32_t frame) {
    const auto given = device.number("queue_size", 32, 32768);
    if (given && !std::has_single_bit(*given)) {
        throw_usage(port::where(request), "queue_size={} of {} is not a power of two", *given, device.name());
    }
    if (given || request.exists) {
        return static_cast<std::uint16_t>(given.value_or(kLeastEntries));
    }
    const std::uint32_t entries =
        port::slots_for(request.rx_queues == 0 ? 0 : request.buffer_size, frame, kLeastEntries, kMostEntries);
    if (entries != kLeastEntries) {
        device.add("queue_size", std::to_string(entries));
    }
    return static_cast<std::uint16_t>(entries);
}

port::PreparedDevice VirtioUser::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"path", "mac", "cq", "queues", "queue_size", "iface", "server", "mrg_rxbuf",
                       "in_order", "packed_vq", "vectorized", "speed"});
    check_mtu(request);
    const bool kernel = check_path(device, request);
    if (!kernel && device.has("iface")) {
        throw_usage(where, "iface={} of {} names a tap interface, which only path=/dev/vhost-net makes",
                    *device.find("iface"), device.name());
    }
    const std::uint32_t mtu =
        std::max({request.mtu, kStandardMtu, request.rx_queues == 0 ? 0 : port::mtu_of(request.max_rx_packet),
                  request.max_tx_packet == 0 ? 0 : port::mtu_of(request.max_tx_packet)});
    if (mtu > kMostMtu) {
        throw_usage(where, "an MTU of {} is needed, and {} has at most {}; lower the packet size", mtu,
                    device.name(), kMostMtu);
    }
    auto plan = start_plan(*this, request, device);
    const std::uint32_t frame = mtu + port::kEthernetHeader + port::kVlanTags;
    const std::uint16_t pairs = plan_queues(device, request);
    const std::uint16_t entries = plan_entries(device, request, frame);
    if (request.rx_queues > 0) {
        // The backend distributes packets over all pairs: unrequested ones must be read, too.
        plan.rx_queues = pairs;
    }
    count_pools(plan, request);
    plan.eal_mtu = mtu;
    // A process at the other end pushes back; the kernel's tap drops what its queue cannot hold.
    if (kernel) {
        plan.kept = {CAP_NET_ADMIN};
    }
    plan.capabilities.lossless = !kernel;
    plan.capabilities.trusts_peer = !kernel;
    plan.listens = !kernel && device.number("server", 0, 1).value_or(0) != 0;
    plan.shares_eal_memory = !kernel;
    plan.capabilities.late_free_segments = static_cast<std::uint16_t>(entries - 1);
    plan.capabilities.max_rx_frame = plan.capabilities.max_tx_frame = frame;
    plan.devargs = device.text();
    plan.device_bytes += std::size_t{pairs} * entries * 256;
    plan.rx = port::queue_sizes(request.rx_queues == 0 ? std::uint16_t{0} : entries,
                                std::uint32_t{entries} * pairs + port::copying_rx_mbufs(1, kPoolCache),
                                port::data_room_of(frame), kPoolCache);
    plan.tx = port::queue_sizes(request.tx_queues == 0 ? std::uint16_t{0} : entries, entries + 1024U,
                                port::data_room_of(tx_frame(request)), kPoolCache);
    return plan;
}

}  // namespace

const port::Driver& virtio_user() {
    static const auto& driver = *new const VirtioUser;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
