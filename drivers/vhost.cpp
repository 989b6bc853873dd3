// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_vhost: the host's end of a vhost-user socket, whose other end is a virtual machine or
/// net_virtio_user.
///
/// Facts (drivers/net/vhost of DPDK 22.11): every packet is copied into or out of the peer's memory inside
/// the burst, chains and external buffers included. A burst moves nothing until the peer is connected, and
/// less than requested when its rings are full. Received packets larger than an mbuf become chains. The
/// socket is made when the port is configured, and connected to with client=1; then the PMD retries by
/// itself. ethdev's MTU has no effect on it. The peer decides how many of the queue pairs run. A port with no
/// queue in one direction never carries anything in the other. Buffers of the peer are looked up in the
/// memory that it shares; a peer that removes that memory ends the process (SIGBUS). So it is trusted, and
/// the socket that we make is for this user only.
#include <algorithm>
#include <filesystem>

#include "drivers/common.hpp"
#include "drivers/peer_socket.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kMaxQueues = 128;    // VHOST_MAX_QUEUE_PAIRS
constexpr std::uint16_t kRingEntries = 256;  // the peer's choice; virtio_user's default

class Vhost final : public port::Driver {
  public:
    std::string_view name() const override { return "net_vhost"; }
    std::string_view alias() const override { return "eth_vhost"; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.lossless = true;
        c.rx_interrupt = true;
        c.trusts_peer = true;
        c.max_rx_frame = c.max_tx_frame = port::kMaxPayload + port::frame_of(0);
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

  private:
    static void check_socket(const port::DeviceString& device, const port::PortRequest& request);
};

void Vhost::check_socket(const port::DeviceString& device, const port::PortRequest& request) {
    const auto where = port::where(request);
    const auto socket = device.find("iface");
    if (!socket) {
        throw_usage(where, "{} needs iface=SOCKET, for example {},iface=/tmp/vhost.sock", device.name(),
                    device.name());
    }
    if (device.number("client", 0, 1).value_or(0) != 0) {
        if (const auto why = why_not_connect(*socket); why && !why->empty()) {
            throw_error(where, "{}", *why);
        }
        return;
    }
    if (request.exists) {
        return;
    }
    namespace fs = std::filesystem;
    std::error_code error;
    if (const auto directory = fs::absolute(*socket, error).parent_path();
        !fs::is_directory(directory, error)) {
        throw_error(where, "iface={} of {}: there is no directory {}", *socket, device.name(),
                    directory.string());
    }
    if (fs::exists(*socket, error)) {
        throw_error(where,
                    "iface={} of {} exists already: another process listens there (then give client=1), or a "
                    "former process left it behind (then remove it)",
                    *socket, device.name());
    }
}

port::PreparedDevice Vhost::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"iface", "queues", "client", "iommu-support", "postcopy-support", "tso",
                       "linear-buffer", "ext-buffer", "legacy-ol-flags"});
    check_mtu(request);
    check_socket(device, request);
    const std::uint16_t needed = std::max<std::uint16_t>({request.rx_queues, request.tx_queues, 1});
    if (needed > kMaxQueues) {
        throw_usage(where, "{} has at most {} queues, and {} are needed; use fewer lcores or senders",
                    device.name(), kMaxQueues, needed);
    }
    const auto given = device.number("queues", 1, kMaxQueues);
    if (!given && needed > 1 && !request.exists) {
        device.add("queues", std::to_string(needed));
    } else if (given.value_or(1) < needed) {
        throw_usage(where, "{} has queues={}, and {} are needed; raise it", device.name(), given.value_or(1),
                    needed);
    }

    auto plan = start_plan(*this, request, device);
    plan.rx_queues = std::max<std::uint16_t>(plan.rx_queues, 1);
    plan.tx_queues = std::max<std::uint16_t>(plan.tx_queues, 1);
    count_pools(plan, request);
    plan.devargs = device.text();
    plan.listens = device.number("client", 0, 1).value_or(0) == 0;
    const std::uint32_t room = port::data_room_of(port::rx_frame_of(request.max_rx_packet));
    plan.rx = request.rx_queues == 0
                  ? port::queue_sizes(kRingEntries, 63, 256, 0)
                  : port::queue_sizes(kRingEntries, port::copying_rx_mbufs(1, kPoolCache), room, kPoolCache);
    plan.tx = copying_tx(request);
    plan.tx.descriptors = std::max(plan.tx.descriptors, kRingEntries);
    return plan;
}

}  // namespace

const port::Driver& vhost() {
    static const auto& driver = *new const Vhost;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
