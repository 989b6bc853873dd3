// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.hpp"
#include "base/heap_limits.hpp"
#include "base/heap_pattern.hpp"
#include "base/listen_address.hpp"
#include "base/mac.hpp"
#include "base/setting_limits.hpp"
#include "capture/options.hpp"
#include "chunk/chunk_window.hpp"
#include "chunk/placement.hpp"
#include "memory/memory_kind.hpp"
#include "memory/stores_rule.hpp"
#include "port/sizes.hpp"

/// Holds the typed, validated plan of one run: the values of the configuration file or the command line, with
/// defaults filled in. lib/config and app/ make it; lib/runtime carries it out. Plain data, control code
/// only.
namespace spead::runtime {

enum class PollMode : std::uint8_t { busy, adaptive, interrupt };
constexpr std::string_view name_of(PollMode mode) {
    switch (mode) {
        case PollMode::busy:
            return "busy";
        case PollMode::interrupt:
            return "interrupt";
        case PollMode::adaptive:
            break;
    }
    return "adaptive";
}
/// Says how a stream's packets come: through the device of its port, or through kernel sockets on the port's
/// network interface.
enum class Backend : std::uint8_t { port, kernel };
/// Says what a full queue does. `automatic`: block if the source loses nothing by waiting (pcap, ring,
/// memif), else drop_newest.
enum class OnFullSetting : std::uint8_t { automatic, drop_newest, drop_oldest, block };
/// Names the kind of sink. `user`: C++ code takes the heaps (UserQueues); a configuration cannot say so.
enum class SinkKind : std::uint8_t { null, verify, file, raw, user, zarr, hdf5, dada };

/// Returns whether the sink writes to a directory.
constexpr bool has_directory(SinkKind kind) noexcept {
    return kind == SinkKind::file || kind == SinkKind::raw || kind == SinkKind::zarr ||
           kind == SinkKind::hdf5;
}
/// Says what follows when a sink can write no more: it takes no more heaps and the other streams go on, or
/// the run ends.
enum class OnSinkError : std::uint8_t { stop, end };
/// Says whether software or the port does a task that some ports can do. `automatic`: the port, if it can.
enum class Offload : std::uint8_t { software, automatic, hardware };
enum class ZeroCopySetting : std::uint8_t { automatic, always, never };

/// Says which capabilities the process keeps. needed: those that its ports still need; all: those that it was
/// started with.
enum class KeptCapabilities : std::uint8_t { needed, all };

struct RuntimePlan {
    std::string name = "dpdk-spead";   ///< also EAL's --file-prefix
    std::optional<unsigned> main_cpu;  ///< of the main lcore; default: CPU 0 of those allowed
    std::vector<unsigned> lcores;      ///< CPUs for worker lcores; empty: chosen by the program
    std::string log_level;             ///< "notice", "debug" or DPDK's pattern syntax
    /// Reserves resources at start, so that streams can be added, removed and moved during the run.
    bool live = false;
    /// Holds the path of the control socket for `dpdk-spead attach`: "auto" (by the run's name), a path,
    /// "off", or empty: the command's default.
    std::string control;
    /// Holds the program and arguments to run for each event, without a shell; empty: none.
    std::vector<std::string> on_event{};
    /// Limits how long an lcore may not answer before the run ends, in seconds; 0: no limit; none: the
    /// command's default.
    std::optional<double> lcore_timeout{};
    std::optional<ListenAddress> metrics{};  ///< listen address for metrics and the API; none: off
    std::string api_token_file{};            ///< with the token for changes through the API; empty: none
    /// Holds which of root's capabilities the program keeps once it has started.
    KeptCapabilities capabilities = KeptCapabilities::needed;
    bool operator==(const RuntimePlan&) const = default;
};

struct MemoryPlan {
    /// Holds the bytes for heap payloads, all streams together; 0: each stream has its own memory.
    std::uint64_t heaps = std::uint64_t{512} << 20;
    /// Reserves EAL memory for ports that are opened during the run. Has no key: only C++ programs open such
    /// ports.
    std::uint64_t spare_eal = 0;
    bool operator==(const MemoryPlan&) const = default;
};

struct PortPlan {
    std::string name;
    std::string device;
    std::uint32_t mtu = 0;  ///< 0: as the streams need
    /// Holds the source address of sent packets, and on ports that the kernel does not see also the address
    /// that we answer for.
    /// 0.0.0.0: the network interface's, if there is one.
    Ipv4 address{};
    /// Holds the same of IPv6; :: instead of 0.0.0.0. Without it, IPv6 has the link-local address that the
    /// MAC address gives.
    Ipv6 address6{};
    /// Holds the tag of all sent packets, and of those that steering lets in; none: untagged, and any tag is
    /// received.
    std::optional<std::uint16_t> vlan{};
    Offload timestamps = Offload::software;    ///< source of arrival times; software: heaps have none
    bool udp_checksum = false;                 ///< check UDP checksums in software where the port does not
    bool reassemble = false;                   ///< put datagrams together that come in IP fragments
    std::uint32_t reassemble_datagrams = 256;  ///< how many may be in the making at a time
    double link_rate = 0;                      ///< bytes per second; 0: unknown. For the command `plan`
    /// Holds the first bytes of a packet that stay with the CPU: the rest goes into memory of the engine that
    /// moves the payload. 0: packets stay whole.
    std::uint32_t split = 0;
    bool operator==(const PortPlan&) const = default;
};

struct SinkPlan {
    SinkKind kind = SinkKind::null;
    std::string directory{};  ///< of a sink that writes files
    OnSinkError on_error = OnSinkError::stop;
    std::uint64_t rotate_size = 0;  ///< of a raw sink: bytes at which the next file begins; 0: never
    /// Holds the directories of a raw sink with several; empty: `directory`.
    std::vector<std::string> directories{};
    std::string dtype = "u1";  ///< of arrays: the type of elements, in the words of numpy
    std::string columns{};     ///< of arrays: the axis that has the places of all shards; empty: none
    std::string column{};      ///< "I/N", the part of this process; empty: all
    std::string ring{};        ///< of a dada sink: the ring's key in hexadecimal; empty: dada
    std::string header{};      ///< of a dada sink: path of the header's template; empty: none
    std::string notify{};      ///< address for notices of chunks: "unix:/path"; empty: none
    bool operator==(const SinkPlan&) const = default;
};

/// Returns the directories that a sink writes to.
inline std::vector<std::string> directories_of(const SinkPlan& sink) {
    return sink.directories.empty() ? std::vector{sink.directory} : sink.directories;
}

/// Says which shards of a plan receive a stream: each has its share of the endpoints, one has them all, or
/// every one has them all. lib/config/shards.hpp deals.
enum class ShardScope : std::uint8_t { endpoints, stream, all };
/// Says how endpoints are dealt to shards: in blocks of neighbours, or in turn.
enum class ShardDeal : std::uint8_t { contiguous, round_robin };

/// Names the shard that a plan is of the plan in the file. Has no keys: config::deal makes it.
struct ShardOf {
    std::uint32_t index = 0;
    std::uint32_t count = 0;      ///< 0: the plan is whole
    std::uint64_t endpoints = 0;  ///< of the whole plan, those that one shard each has
    bool operator==(const ShardOf&) const = default;
};

/// Says which memory chunks lie in. `host`: huge pages if enough are free, else ordinary pages; `huge`: huge
/// pages only; `pinned`: as `host`, but locked, and registered so that cards can send from it; `cuda_pinned`:
/// as `pinned`, and registered with NVIDIA's driver, so that GPUs reach it.
enum class ChunkMemory : std::uint8_t { host, huge, pinned, cuda_pinned };

constexpr memory::MemoryKind kind_of(ChunkMemory memory) noexcept {
    return memory == ChunkMemory::pinned || memory == ChunkMemory::cuda_pinned ? memory::MemoryKind::pinned
                                                                               : memory::MemoryKind::host;
}

/// Puts a stream's heaps into chunks, which all its lcores fill together.
struct ChunkPlan {
    static constexpr std::uint64_t kJumpWindows = 8;  ///< default of `max_jump`

    std::string placement;  ///< text form of chunk::Placement; empty with `by_callback`
    /// Says that a user's callback places the heaps, which only a program can: UserChunks::Use.
    bool by_callback = false;
    chunk::Way way = chunk::Way::automatic;
    std::uint32_t chunks = 8;  ///< buffers: those in the window, and those with the consumer
    std::uint32_t window = 2;  ///< chunks that are open at a time
    chunk::Eviction eviction = chunk::Eviction::lossy;
    double timeout = 0;    ///< seconds without a packet of the chunk; 0: off
    double patience = 10;  ///< seconds that lcores wait for those behind them (lossless); 0: no limit
    /// Holds the chunks past the window that a single packet is believed; 0: any number; none: kJumpWindows
    /// windows.
    std::optional<std::uint64_t> max_jump{};
    bool back_fill = false;  ///< chunks for skipped ids, too
    ChunkMemory memory = ChunkMemory::host;
    bool operator==(const ChunkPlan&) const = default;

    /// Returns the chunks that a window needs besides its own: with back-filling, as with spead2, none.
    static constexpr std::uint32_t spare(bool back_fill) { return back_fill ? 0 : 1; }
    std::uint64_t jump() const { return max_jump.value_or(kJumpWindows * window); }
    /// Returns the placement with `way`. Throws UsageError; `where` is the error's where().
    chunk::Placement parsed(std::string_view where = {}) const {
        chunk::Placement made = chunk::Placement::parse(placement, where);
        if (way != chunk::Way::automatic)
            made.way = way;
        return made;
    }
};

/// Says what moves payload into heaps: the lcores that receive (`none`), or an engine (gather/engine.hpp).
enum class HeapEngine : std::uint8_t { none, cpu, fake, cuda };

/// Returns the kind of the memory that heaps lie in.
constexpr memory::MemoryKind kind_of(HeapEngine engine) noexcept {
    return engine == HeapEngine::fake || engine == HeapEngine::cuda ? memory::MemoryKind::device
                                                                    : memory::MemoryKind::host;
}

struct ReceivePlan {
    std::string name;
    std::string port;  ///< of two paths, that of the first
    std::vector<Endpoint> endpoints;
    std::vector<std::string> endpoint_texts;  ///< as the user wrote them (ranges unexpanded), for printing
    /// Holds the ports of both paths, which bring copies of the same packets; empty: one path (paths.hpp).
    std::vector<std::string> paths{};
    /// Holds the endpoints of the second path, as many as `endpoints`; empty: the same ones.
    std::vector<Endpoint> path_endpoints{};
    std::vector<std::string> path_endpoint_texts{};
    double path_skew = 0.05;  ///< seconds that a path may be behind the other one
    Backend backend = Backend::port;
    std::vector<unsigned> lcores;  ///< CPU numbers; empty: chosen by the program
    PollMode poll = PollMode::adaptive;
    std::uint32_t max_poll = 10;
    std::uint32_t max_packet_size = 9200;  ///< UDP payload bytes
    std::uint64_t buffer_size = std::uint64_t{16} << 20;
    std::uint32_t substreams = 1;
    bool in_order = false;
    bool stop_on_stop_item = false;
    bool control_heaps = false;
    std::string format;  ///< wire::PacketFormat of its packets; empty: SPEAD
    std::string filter;  ///< recv::FilterExpression of the packets to keep; empty: all
    /// Limits the buffers that a C++ filter may hold on each lcore. Each receive pool has so many more.
    std::uint32_t held_buffers = 0;
    /// Limits the buffers that its heaps may refer to on each lcore, instead of being copied. Each receive
    /// pool has so many more.
    std::uint32_t lend = 0;
    memory::CopySetting copy = memory::CopySetting::automatic;  ///< stores of payload copies
    double silent_after = 0;    ///< seconds without a packet until it counts as silent; 0: never
    double loss_threshold = 0;  ///< fraction of a second's heaps that may be lost; 0: any number
    double expected_rate = 0;   ///< expected payload bytes per second; 0: not watched
    ShardScope shard = ShardScope::endpoints;
    ShardDeal deal = ShardDeal::contiguous;
    std::vector<std::string> assign{};  ///< "ENDPOINT=SHARD": these endpoints belong to these shards
    // [receive.heaps]
    std::uint32_t max_live = 4;       ///< live heaps per substream
    std::uint32_t queue_depth = 256;  ///< hand-over queue, heaps
    std::uint64_t max_bytes = std::uint64_t{64} << 20;
    /// Holds the bytes for heap payloads on each of its lcores; 0: a reservation in [memory] heaps. Heaps
    /// that a user takes outlive the lcores' memory, so SinkKind::user needs its own.
    std::uint64_t memory = 0;
    HeapEngine engine = HeapEngine::none;
    /// Holds the bytes of the engine's memory for heap payloads, on each of its lcores.
    std::uint64_t engine_memory = std::uint64_t{512} << 20;
    double timeout = 0;            ///< seconds without a packet of the heap; 0: off
    std::uint32_t history = 1024;  ///< finished heap counts remembered per substream; 0: off
    double history_time = kHistorySeconds;
    OnFullSetting on_full = OnFullSetting::automatic;
    std::optional<ChunkPlan> chunk{};  ///< none: a stream of heaps
    SinkPlan sink;
    bool enabled = true;  ///< false: configured, but not received
    std::optional<capture::Options> capture;
    bool operator==(const ReceivePlan&) const = default;

    /// Returns the bytes for heap payloads that are its own on each lcore; 0: it shares [memory] heaps.
    std::uint64_t own_memory() const noexcept { return engine == HeapEngine::none ? memory : engine_memory; }
};

/// Returns the UDP payload that IPv4 packets of the largest size would have, by which ports count.
inline std::uint32_t payload_in_ipv4(const ReceivePlan& r) {
    const auto any_ipv6 = [](const std::vector<Endpoint>& endpoints) {
        return std::any_of(endpoints.begin(), endpoints.end(),
                           [](const Endpoint& e) { return e.address.is_v6(); });
    };
    const bool ipv6 = any_ipv6(r.endpoints) || any_ipv6(r.path_endpoints);
    return r.max_packet_size + (ipv6 ? port::kIpv6More : 0);
}

struct SendPlan {
    std::string name;
    std::string port;
    std::vector<Endpoint> endpoints;  ///< heap i goes to endpoint i mod N
    std::vector<std::string> endpoint_texts;
    std::optional<unsigned> lcore;
    /// Holds the MAC address for packets to unicast endpoints: that of the host, or of the router towards it.
    /// None: the kernel's neighbour table is used, on ports whose network interface it sees.
    std::optional<MacAddress> dst_mac;
    double rate = 0;                   ///< bytes of UDP payload per second; 0: unlimited
    std::uint64_t burst_size = 65536;  ///< bytes
    double burst_rate_ratio = 1.05;
    Offload pacer = Offload::software;
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 0;                           ///< class of the packets (RFC 2474), 0..63
    HeapPattern pattern = HeapPattern::none;         ///< whose heaps are sent; none: those of test items
    std::uint32_t senders = 0;                       ///< of each group of the pattern; 0: the pattern's own
    std::uint64_t first_time = 0;                    ///< of the pattern, in steps of time
    std::optional<std::uint32_t> max_packet_size{};  ///< UDP payload bytes; none: packet_size()
    std::uint64_t heap_size = std::uint64_t{4} << 20;
    std::uint32_t items = 1;
    bool repeat_items = false;    ///< every packet carries all item pointers of its heap
    std::int64_t heaps = -1;      ///< how many to send; -1: for ever
    std::uint32_t max_heaps = 4;  ///< in flight
    double timeout = 0;           ///< seconds in which a heap must be sent; 0: no limit
    /// Holds the first heap count, modulo 2^address_bits. Senders of one stream need separate counts: 1, 3...
    /// and 2, 4...
    std::uint64_t first_count = 1;
    std::uint64_t count_step = 1;
    std::uint8_t address_bits = 40;
    ZeroCopySetting zero_copy = ZeroCopySetting::automatic;
    bool verify = false;  ///< payload is the verification sequence
    bool udp_checksum = false;
    std::string impair{};  ///< port::Impairments of sent packets, for tests; empty: none
    std::string from{};    ///< directory or file of a sink whose heaps are sent; empty: heaps are made
    /// Names the sender whose heaps it sends on another path, in step with it (Lockstep); empty: none.
    std::string copy_of{};
    bool enabled = true;  ///< false: configured, but not sending
    bool operator==(const SendPlan&) const = default;
};

/// Returns whether the packets are of IPv6: all endpoints of a sender are of one version.
constexpr bool is_ipv6(const SendPlan& s) {
    return !s.endpoints.empty() && s.endpoints.front().address.is_v6();
}

/// Returns the bytes of the IP and UDP headers of its packets.
constexpr std::uint32_t header_bytes(const SendPlan& s) {
    return port::kIpUdpHeaders + (is_ipv6(s) ? port::kIpv6More : 0);
}

/// Returns the largest UDP payload of its packets. If the plan names none, it is that of an MTU of 1500.
constexpr std::uint32_t packet_size(const SendPlan& s) {
    return s.max_packet_size.value_or(port::kUsualMtu - header_bytes(s));
}

/// Returns the UDP payload that IPv4 packets of the largest size would have, by which ports count.
constexpr std::uint32_t payload_in_ipv4(const SendPlan& s) {
    return packet_size(s) + header_bytes(s) - port::kIpUdpHeaders;
}

/// Returns whether descriptors and data of the first heap exceed the items of one heap. Then the descriptors
/// have a heap of their own.
constexpr bool describes_apart(const SendPlan& s) {
    return s.pattern == HeapPattern::none && 2 * std::uint64_t{s.items} > kMaxHeapItems;
}

/// Says when a run ends by itself; all members are optional.
struct EndPlan {
    std::uint64_t heaps = 0;  ///< heaps delivered to sinks, all streams together; 0: no limit
    double duration = 0;      ///< seconds; 0: no limit
    double idle_exit = 0;     ///< seconds without a packet of any stream, counted from the first one; 0: off
    bool exit_on_stop = false;  ///< when every endpoint has seen a stop item
    bool operator==(const EndPlan&) const = default;
};

struct Plan {
    RuntimePlan runtime;
    MemoryPlan memory;
    std::vector<PortPlan> ports;
    std::vector<ReceivePlan> receives;
    std::vector<SendPlan> sends;
    EndPlan end;
    ShardOf shard{};
    bool operator==(const Plan&) const = default;
};

}  // namespace spead::runtime
