// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_memif: shared memory between two processes, which connect through a Unix socket.
///
/// Facts (drivers/net/memif of DPDK 22.11): the client makes the memory, so its `bsize` counts for both
/// directions. A frame longer than bsize takes several slots, and that code corrupts memory when the ring is
/// nearly full: a slot must hold the largest frame. Packets are copied in and out; chains and external
/// buffers are fine, no offload is reported. Starting a client fails until the server listens. tx_burst takes
/// nothing until the peer is connected and when the ring is full. Packets that are not fetched when an end
/// closes are lost, so stopping waits for the peer. A peer's disconnect unmaps the memory in EAL's interrupt
/// thread, even while an lcore is inside a burst, or the device is being stopped; port/link_guard.hpp keeps
/// these apart. Closing a server leaves its listening socket behind.
///
/// The peer is trusted. The PMD takes regions, rings, and each slot's region, offset and length from the peer
/// without checks, and adds the offset to an address; docs/drivers.md describes the consequences. So the
/// socket is a file of this user's, while the PMD's own default is an abstract address, open to every local
/// user.
///
/// DPDK 23.03 brought fast paths, which base/dpdk_version.hpp describes: a chain takes a slot for each
/// segment, and a server's `bsize` has a meaning. choose_paths() decides.
///
/// Layout of the shared memory: memif's protocol, as in memif.h of DPDK and libmemif.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/dpdk_version.hpp"
#include "drivers/common.hpp"
#include "drivers/memif_socket.hpp"
#include "drivers/peer_socket.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kDefaultSlot = 2048;
constexpr std::uint32_t kMaxSlot = 65535;
constexpr std::uint32_t kDefaultLog2Ring = 10;
constexpr std::uint32_t kMaxLog2Ring = 14;
constexpr std::uint16_t kMaxQueues = 255;
constexpr std::size_t kMaxSecret = 23;

// One ring in the shared memory: a cookie, flags and the head in the first cache line, the tail in the
// second, then the descriptors. The rings come first in the region, one behind the other, then the first
// slot's buffer.
constexpr std::uint32_t kRingCookie = 0x3E31F20;
constexpr std::size_t kHeadAt = 6;
constexpr std::size_t kTailAt = 64;
constexpr std::size_t kRingHeader = 128;
constexpr std::size_t kDescriptorBytes = 16;
constexpr std::size_t kFirstBufferAt = kRingHeader + 8;  // in the first descriptor of the first ring
// A descriptor begins with its flags.
constexpr std::uint16_t kContinues = 1;  // MEMIF_DESC_FLAG_NEXT: the packet goes on in the next slot

struct SharedRing {
    std::size_t offset = 0;  ///< in the region
    std::uint16_t head = 0;
    std::uint16_t tail = 0;
};

struct SharedRings {
    std::uint32_t slots = 0;  ///< of each ring
    std::vector<SharedRing> rings;
};

/// Reads through the descriptor, not through a mapping: the peer's disconnect may close and unmap it at any
/// time.
template <typename T>
std::optional<T> read_shared(int fd, std::size_t offset) {
    T value{};
    const bool whole = ::pread(fd, &value, sizeof value, static_cast<off_t>(offset)) == ssize_t{sizeof value};
    return whole ? std::optional{value} : std::nullopt;
}

std::optional<SharedRing> read_ring(int fd, std::size_t offset) {
    const auto cookie = read_shared<std::uint32_t>(fd, offset);
    const auto head = read_shared<std::uint16_t>(fd, offset + kHeadAt);
    const auto tail = read_shared<std::uint16_t>(fd, offset + kTailAt);
    return cookie == kRingCookie && head && tail ? std::optional{SharedRing{offset, *head, *tail}}
                                                 : std::nullopt;
}

/// Returns the rings in one shared region; none when its layout is not that of DPDK's client.
SharedRings read_rings(int fd) {
    const std::size_t end = read_shared<std::uint32_t>(fd, kFirstBufferAt).value_or(0);
    for (std::uint32_t log2 = 1; log2 <= kMaxLog2Ring; ++log2) {
        const std::size_t stride = kRingHeader + (kDescriptorBytes << log2);
        SharedRings found{1U << log2, {}};
        for (std::size_t offset = 0; offset < end && end % stride == 0; offset += stride) {
            const auto ring = read_ring(fd, offset);
            if (!ring) {
                break;
            }
            found.rings.push_back(*ring);
        }
        if (!found.rings.empty() && found.rings.size() * stride == end) {
            return found;
        }
    }
    return {};
}

/// Returns the packets in the `count` slots of a ring before slot `end`. A chain may take several slots.
std::uint64_t packets_before(int fd, const SharedRing& ring, std::uint32_t slots, std::uint16_t end,
                             std::uint32_t count) {
    if (count == 0) {
        return 0;
    }
    std::vector<std::byte> descriptors(slots * kDescriptorBytes);
    if (::pread(fd, descriptors.data(), descriptors.size(), static_cast<off_t>(ring.offset + kRingHeader)) !=
        static_cast<ssize_t>(descriptors.size())) {
        return 0;
    }
    std::uint64_t packets = 0;
    for (std::uint32_t back = 1; back <= count; ++back) {
        std::uint16_t flags = 0;
        std::memcpy(&flags, &descriptors[((end - back) & (slots - 1)) * kDescriptorBytes], sizeof flags);
        packets += (flags & kContinues) == 0 ? 1 : 0;
    }
    return packets;
}

/// Returns the packets waiting in this end's transmit rings. Client to server: the client moves the head, the
/// server the tail. Server to client: the client offers empty slots by moving the head, the server fills them
/// by moving the tail.
std::uint64_t waiting_in(int fd, bool client, std::uint16_t rx, std::uint16_t tx) {
    const SharedRings shared = read_rings(fd);
    if (shared.rings.size() != std::size_t{rx} + tx) {
        return 0;
    }
    std::uint64_t waiting = 0;
    for (std::size_t i = 0; i < tx; ++i) {
        const SharedRing& ring = shared.rings[client ? i : rx + i];
        const std::uint32_t ahead =
            std::min<std::uint32_t>(static_cast<std::uint16_t>(ring.head - ring.tail), shared.slots);
        if (client) {
            waiting += packets_before(fd, ring, shared.slots, ring.head, ahead);
        } else if (ring.head != 0 || ring.tail != 0) {
            waiting += packets_before(fd, ring, shared.slots, ring.tail, shared.slots - ahead);
        }
    }
    return waiting;
}

bool is_client(const port::DeviceString& device, const std::string& where) {
    const std::string role = device.find("role").value_or("client");
    if (role == "client" || role == "slave") {
        return true;
    }
    if (role == "server" || role == "master") {
        return false;
    }
    throw_usage(where, "role={} of {} is neither client nor server", role, device.name());
}

/// Returns the entries of /proc/self/fd.
std::vector<int> own_descriptors() {
    std::vector<int> descriptors;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        descriptors.push_back(std::stoi(entry.path().filename().string()));
    }
    return descriptors;
}

/// Holds the address where a device connects to its peer.
struct Address {
    bool client = true;
    std::string name;  ///< as sun_path: a path, or a zero byte and an abstract name

    bool is_file() const { return name.front() != '\0'; }

    static Address of(const port::PreparedDevice& plan) {
        const auto device = port::DeviceString::parse(plan.devargs, plan.name);
        const std::string path = memif_socket(device);
        return {is_client(device, plan.name),
                is_abstract(device, plan.name) ? std::string(1, '\0') + path : path};
    }
};

bool is_socket(int fd, bool listening) {
    int type = 0;
    int listens = 0;
    socklen_t size = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
           ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && (listens != 0) == listening;
}

/// Returns a Unix socket's address, or its peer's; empty when it has none.
std::string name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*) noexcept) {
    sockaddr_un address{};
    socklen_t length = sizeof address;
    if (ask(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.sun_family != AF_UNIX ||
        length <= offsetof(sockaddr_un, sun_path)) {
        return {};
    }
    const std::string name(address.sun_path, length - offsetof(sockaddr_un, sun_path));
    // A path is followed by what the caller of bind left there.
    return name.front() == '\0' ? name : name.substr(0, name.find('\0'));
}

class Memif final : public port::Driver {
  public:
    std::string_view name() const override { return "net_memif"; }

    /// Returns true: the PMD reports that --no-shconf excludes calls between processes, which only secondary
    /// ones need.
    bool complains() const override { return true; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.lossless = true;
        c.needs_peer = true;
        c.trusts_peer = true;
        c.max_rx_frame = c.max_tx_frame = kMaxSlot;
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

    void apply(port::PreparedDevice& plan) const override;
    void closing(const port::PreparedDevice& plan) const noexcept override;
    void released(const port::PreparedDevice& plan) const noexcept override;
    std::vector<int> connections(const port::PreparedDevice& plan) const override;
    std::optional<std::string> why_no_peer(const port::PreparedDevice& plan) const override {
        const Address address = Address::of(plan);
        return address.client && address.is_file() ? why_not_connect(address.name) : std::nullopt;
    }

    std::uint64_t unfetched(const port::PreparedDevice& plan) const override {
        const bool client = Address::of(plan).client;
        std::uint64_t waiting = 0;
        std::error_code ignored;
        for (const int fd : own_descriptors()) {
            const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
            if (target.string().starts_with("/memfd:memif_region_0")) {
                waiting += waiting_in(fd, client, plan.rx_queues, plan.tx_queues);
            }
        }
        return waiting;
    }

  private:
    static std::uint32_t plan_slot(port::DeviceString& device, bool client, const port::PortRequest& request);
    static std::uint32_t plan_ring(port::DeviceString& device, std::uint32_t slot,
                                   const port::PortRequest& request);
};

/// Returns the open ports by the sockets of their peers. Main thread only.
std::map<std::string, unsigned>& users_of_sockets() {
    // Never destroyed: ports may be closed while the process ends.
    static auto& users = *new std::map<std::string, unsigned>;
    return users;
}

void Memif::apply(port::PreparedDevice& plan) const {
    const Address address = Address::of(plan);
    if (address.is_file()) {
        prepare_memif_socket(address.name, address.client, plan.name);
    }
    ++users_of_sockets()[address.name];
}

void Memif::released(const port::PreparedDevice& plan) const noexcept {
    --users_of_sockets()[Address::of(plan).name];
}

/// Returns the connected sockets whose listening end has the device's address: our own end's address if we
/// listen, the peer's otherwise. They may belong to another memif of this process at the same socket, which
/// does no harm.
std::vector<int> Memif::connections(const port::PreparedDevice& plan) const {
    const Address address = Address::of(plan);
    std::vector<int> found;
    for (const int fd : own_descriptors()) {
        if (is_socket(fd, false) &&
            is_same_socket(name_of(fd, address.client ? ::getpeername : ::getsockname), address.name)) {
            found.push_back(fd);
        }
    }
    return found;
}

/// Replaces descriptors that the PMD leaks: its listening socket and unhandled connections stay open, and on
/// their events EAL would call the PMD with freed memory. Each is replaced by a descriptor without events,
/// because EAL still watches those numbers.
void Memif::closing(const port::PreparedDevice& plan) const noexcept {
    const Address address = Address::of(plan);
    if (address.client || users_of_sockets()[address.name] > 1) {
        return;
    }
    const int silent = ::eventfd(0, EFD_CLOEXEC);
    for (const int fd : own_descriptors()) {
        if ((is_socket(fd, true) || is_socket(fd, false)) && name_of(fd, ::getsockname) == address.name) {
            ::dup2(silent, fd);
        }
    }
    ::close(silent);
}

/// Returns the bytes of a slot, which must hold the largest frame in either direction.
std::uint32_t Memif::plan_slot(port::DeviceString& device, bool client, const port::PortRequest& request) {
    const auto where = port::where(request);
    const std::uint32_t received = request.rx_queues > 0 ? port::frame_of(request.max_rx_packet) : 0;
    const std::uint32_t needed = std::max(received, tx_frame(request));
    const std::uint32_t in_ipv4 =
        std::max(request.rx_queues > 0 ? request.max_rx_packet : 0, request.max_tx_packet);
    const std::uint32_t payload = request.named(in_ipv4);
    const std::uint32_t headers = port::frame_of(in_ipv4) - payload;
    if (needed > kMaxSlot) {
        throw_usage(where,
                    "frames of {} bytes ({} of UDP payload + {} of headers) are too large: memif's largest "
                    "bsize is {}",
                    needed, payload, headers, kMaxSlot);
    }
    const std::uint32_t wanted =
        std::min(kMaxSlot, std::max(kDefaultSlot, port::round_up(needed + port::kVlanTags, 64U)));
    auto given = device.number("bsize", 1, kMaxSlot);
    if (!given && client && !request.exists) {
        device.add("bsize", std::to_string(wanted));
        return wanted;
    }
    const auto slot = static_cast<std::uint32_t>(given.value_or(kDefaultSlot));
    if (client && slot < needed) {
        throw_usage(where,
                    "{} {} is too small: packets of {} bytes of UDP payload + {} of headers are frames of "
                    "{}, and memif "
                    "corrupts frames above bsize; give bsize={}, or {}lower the packet size",
                    given ? "bsize" : "the default bsize", slot, payload, headers, needed, wanted,
                    request.exists ? "" : "leave it out, or ");
    }
    // The server's own bsize is no size of slots; it copies into mbufs of the size it expects.
    return client ? slot : wanted;
}

/// Returns log2 of the slots of a ring; the smaller of both ends' counts.
std::uint32_t Memif::plan_ring(port::DeviceString& device, std::uint32_t slot,
                               const port::PortRequest& request) {
    if (const auto given = device.number("rsize", 1, kMaxLog2Ring)) {
        return static_cast<std::uint32_t>(*given);
    }
    if (request.exists) {
        return kDefaultLog2Ring;
    }
    const std::uint32_t slots =
        port::slots_for(request.buffer_size, slot, 1U << kDefaultLog2Ring, 1U << kMaxLog2Ring);
    const auto log2 = static_cast<std::uint32_t>(std::countr_zero(slots));
    if (log2 != kDefaultLog2Ring) {
        device.add("rsize", std::to_string(log2));
    }
    return log2;
}

/// Chooses the paths of net_memif where it has fast ones. A server's bsize selects nothing else, so a server
/// that receives gets one above every mbuf: frames that are longer than expected then come as chains. A
/// server that only sends gets one below every data room: the slots, which have the client's size, are then
/// respected.
void choose_paths(port::DeviceString& device, bool client, const port::PortRequest& request,
                  port::PreparedDevice& plan) {
    const std::uint32_t version = dpdk::running_version();
    const bool receives = request.rx_queues > 0;
    if (!client && dpdk::memif_has_fast_paths(version)) {
        if (!request.exists) {
            device.set("bsize", std::to_string(receives ? kMaxSlot : 1));
        } else if (receives && device.number("bsize", 1, kMaxSlot).value_or(kDefaultSlot) != kMaxSlot) {
            plan.remarks.push_back(fmt::format(
                "{}: frames that are longer than --max-packet-size allows overwrite memory; give {} "
                "bsize={} where EAL makes it",
                port::where(request), device.name(), kMaxSlot));
        }
    }
    if (dpdk::memif_corrupts_chains(version) && (client || receives || request.exists)) {
        plan.capabilities.tx_multi_segment = false;
        plan.capabilities.corrupts_chains = true;
    }
}

port::PreparedDevice Memif::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys(
        {"id", "role", "bsize", "rsize", "socket", "socket-abstract", "mac", "zero-copy", "secret"});
    check_mtu(request);
    const bool client = is_client(device, where);
    if (device.find("zero-copy").value_or("no") != "no") {
        throw_usage(
            where,
            "zero-copy={} of {} is not supported, because it sends only EAL's own memory; leave it out",
            *device.find("zero-copy"), device.name());
    }
    (void)device.number("id", 0, UINT32_MAX);
    if (device.find("secret").value_or("").size() > kMaxSecret) {
        throw_usage(where, "the secret of {} has more than {} characters", device.name(), kMaxSecret);
    }
    if (std::max(request.rx_queues, request.tx_queues) > kMaxQueues) {
        throw_usage(where, "{} has at most {} queues", device.name(), kMaxQueues);
    }
    if (!request.exists) {
        complete_memif_socket(device, where);
    }
    check_memif_socket(device, client, request);

    auto plan = start_plan(*this, request, device);
    if (!device.has("role")) {
        plan.remarks.push_back(fmt::format(
            "{}: {} has no role=, so it is the client; its peer needs role=server", where, device.name()));
    }
    if (is_abstract(device, where)) {
        plan.remarks.push_back(
            fmt::format("{}: every local user can connect to the abstract address of {}, and a peer is "
                        "trusted; socket-abstract=no excludes other users",
                        where, device.name()));
    }
    plan.listens = !client;
    if (!client && device.has("bsize")) {
        plan.remarks.push_back(fmt::format("{}: bsize counts only at the client's end of a memif", where));
    }
    const std::uint32_t slot = plan_slot(device, client, request);
    choose_paths(device, client, request, plan);
    const std::uint32_t log2_ring = plan_ring(device, slot, request);
    const std::uint64_t rings = std::uint64_t{request.rx_queues} + request.tx_queues;
    const std::uint64_t region = rings * ((std::uint64_t{slot} + kDescriptorBytes) << log2_ring);
    if (client && region > UINT32_MAX) {
        throw_usage(where,
                    "{} rings of {} slots of {} bytes need {} bytes, and a memif region holds {}; lower "
                    "rsize or --buffer-size",
                    rings, 1U << log2_ring, slot, region, UINT32_MAX);
    }
    if (rings > 2 || request.rx_queues > 1 || request.tx_queues > 1) {
        plan.remarks.push_back(
            fmt::format("{}: {} has {} receive and {} transmit queues; its peer needs {} transmit and {} "
                        "receive queues",
                        where, device.name(), request.rx_queues, request.tx_queues, request.rx_queues,
                        request.tx_queues));
    }
    plan.connects_when_started = client;
    plan.outside_bytes = client ? region : 0;
    if (client) {
        plan.capabilities.max_rx_frame = plan.capabilities.max_tx_frame = slot;
    }
    count_pools(plan, request);
    plan.devargs = device.text();
    const std::uint32_t room = port::data_room_of(slot);
    plan.rx = port::queue_sizes(static_cast<std::uint16_t>(1U << log2_ring),
                                port::copying_rx_mbufs(port::segments_of(slot, room), kPoolCache), room,
                                kPoolCache);
    plan.tx = copying_tx(request);
    plan.tx.descriptors = static_cast<std::uint16_t>(1U << log2_ring);
    return plan;
}

}  // namespace

const port::Driver& memif() {
    static const auto& driver = *new const Memif;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
