// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"
#include "stats/axis_presence.hpp"
#include "stats/chunk_counts.hpp"
#include "stats/counters.hpp"
#include "stats/distribution.hpp"
#include "stats/few_sources.hpp"
#include "stats/finding.hpp"
#include "stats/losses.hpp"
#include "stats/settings.hpp"
#include "stats/stream_event.hpp"

/// Holds one consistent picture of a run; the report, the prompt, telemetry and metrics are views of it.
namespace spead::stats {

/// Holds one endpoint of a stream; ranges are listed address by address.
struct EndpointSnapshot {
    std::string name;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< payload placed into heaps
    bool not_new = false;     ///< had packets before the counters were cleared
};

/// Names the health of a stream, watched or not, with a silent lcore, or with an engine that stands still.
inline constexpr std::string_view kStalled = "stalled";

/// Holds the last event of a stream.
struct LastEvent {
    StreamEvent kind{};
    double at_s = 0;   ///< of the run
    std::string text;  ///< a sentence, without the stream's name
};

/// Holds what a port has received.
struct PortPackets {
    std::string name;
    std::array<std::uint64_t, kPortOutcomes> rx{};
    std::uint64_t rx_packets = 0;
    std::uint64_t wanted_fragments = 0;  ///< ReassemblyCounts::wanted
};

struct StreamSnapshot {
    std::string name;
    std::uint32_t number = 0;  ///< unique in the run, whatever its name; 0: unknown
    std::string state;         ///< "received", "stopped", or "waiting" for its port
    std::string port;          ///< its name; empty: unknown
    double changed_s = 0;      ///< when it was changed last, in seconds of the run; 0: never
    /// Holds what its ports have received since then; of one without a port here, its own counts say so. In
    /// the base of a FindingLog: what they had received then.
    std::vector<PortPackets> port_packets;
    std::vector<std::string> endpoints;  ///< as the user wrote them
    bool has_format = false;             ///< its packets are of a declared format, and not SPEAD
    std::string fits_format;             ///< of malformed packets: wire::fitting_format()
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::uint64_t received = 0;  ///< sum of `packets`
    std::uint64_t heaps_started = 0;
    std::array<std::uint64_t, kHeapEnds> heaps_ended{};
    std::uint64_t heaps_live = 0;
    std::uint64_t heaps_delivered = 0;
    std::uint64_t heaps_unwritten = 0;  ///< taken from the queue, and lost: its sink failed, or its user left
    std::uint64_t heaps_dropped_full = 0;
    std::uint64_t heaps_device_error = 0;  ///< lost because the engine that moves their payload failed
    std::uint64_t heaps_queued = 0;
    std::uint64_t packets_reordered = 0;
    std::uint64_t heaps_interleaved_evictions = 0;
    std::uint64_t missing_bytes = 0;    ///< announced bytes of heaps that were given up which never came
    std::uint64_t missing_packets = 0;  ///< likewise, estimated from the packets that came
    ActiveTime active;                  ///< its packets
    std::uint64_t stop_items = 0;
    std::uint64_t heaps_verified = 0;        ///< by a verifying sink: compared and right
    std::uint64_t heaps_wrong = 0;           ///< ... and wrong
    std::uint64_t heaps_handed_over = 0;     ///< put into the hand-over queue
    std::uint64_t heaps_dropped_oldest = 0;  ///< of heaps_dropped_full, those taken out of the queue again
    std::uint64_t heaps_waiting = 0;         ///< of heaps_queued, those that are not in the queue yet
    std::uint64_t control_bytes = 0;         ///< not in `bytes`: of heaps that carried stream control only

    std::uint64_t packets_at_limit =
        0;                           ///< of no_memory: their heap had all item pointers or holes it may have
    std::uint64_t heaps_ghosts = 0;  ///< of those evicted: a packet or two came of them, and nothing more
    std::uint64_t heaps_dropped_ghosts = 0;  ///< of heaps_dropped_full: ghosts that were not handed over
    std::uint32_t ghosts_source = 0;     ///< IPv4 address that began most of the ghosts; 0: there were none
    std::uint64_t ghosts_of_source = 0;  ///< how many, by an estimate that is never too high
    std::uint64_t held_now = 0;          ///< packets that a filter holds
    std::uint64_t hold_refused = 0;      ///< it held its limit, and they were kept or dropped instead
    std::uint64_t rotating_bytes = 0;    ///< memory that payload was lately written to in turn, on one lcore
    std::uint64_t streaming_now = 0;     ///< lcores that copy payload past the cache
    std::uint64_t lent_now = 0;          ///< packets that stay in the port's buffers for its heaps
    std::uint64_t lend_full = 0;  ///< heaps that were copied, all or the rest, for want of such buffers
    /// Holds the bytes of a frame before its payload, the most of packets that count as header_in_device.
    std::uint32_t longest_header = 0;
    FewSources cut_sources;            ///< of those packets
    std::uint32_t longest_packet = 0;  ///< bytes of UDP payload, the most of packets that count as oversize

    // Only of a stream with chunks.
    ChunkCounts chunks;
    /// Names the stream with which sums count these chunks, because several streams fill them; empty: itself.
    std::string chunks_counted_with;
    std::uint64_t lcores_direct = 0;   ///< whose packets tell their places each
    std::uint64_t lcores_tracked = 0;  ///< where only the first packet of a heap does
    FewSources late_sources;
    FewSources future_sources;
    /// Holds the bytes of a packet that was cut otherwise than those before, and theirs; 0: none.
    std::uint32_t odd_packet = 0;
    std::uint32_t usual_packet = 0;
    /// Holds heaps and packets that were in progress when the counters were cleared; their ends are counted
    /// after that.
    struct Carried {
        std::uint64_t live = 0;
        std::uint64_t queued = 0;
        std::uint64_t waiting = 0;
    };
    Carried carried;

    // Only of a stream with two paths (stats/paths.hpp).
    std::vector<std::string> path_ports;                   ///< empty: it has one path
    std::vector<std::vector<std::string>> path_endpoints;  ///< of each path
    std::array<PathCounters, kMaxPaths> paths{};

    /// Returns whether its packets may come by the port.
    bool comes_by(const std::string& on) const noexcept {
        return port.empty() || port == on ||
               std::find(path_ports.begin(), path_ports.end(), on) != path_ports.end();
    }
    /// Returns the heaps without a place in the hand-over queue, except ghosts.
    std::uint64_t heaps_without_place() const noexcept { return heaps_dropped_full - heaps_dropped_ghosts; }
    /// Returns those that found no free heap memory.
    std::uint64_t packets_without_memory() const noexcept {
        return packets[static_cast<std::size_t>(PacketOutcome::no_memory)] - packets_at_limit;
    }

    // Only in detailed snapshots.
    std::vector<EndpointSnapshot> by_endpoint;
    std::vector<AxisPresence> axes;  ///< of its present chunks, without the time
    Distribution latency;            ///< of heaps: first packet to hand-over
    Distribution gap;                ///< between the beginnings of heaps
    // High-water marks, of the lcore that came closest to its limit.
    std::uint64_t queue_capacity = 0;     ///< places of the hand-over queue
    std::uint64_t queue_most = 0;         ///< most heaps that were queued
    std::uint64_t pool_bytes = 0;         ///< heap memory reserved for the stream
    std::uint64_t pool_most = 0;          ///< most that it had; more than pool_bytes if it could borrow
    std::uint64_t queue_most_minute = 0;  ///< queue_most within the last minute
    std::uint64_t pool_most_minute = 0;
    std::uint64_t queue_most_now = 0;  ///< queue_most since the snapshot before
    std::uint64_t pool_most_now = 0;
    NearLoss queue_near;            ///< places of the hand-over queue
    NearLoss pool_near;             ///< bytes of heap memory
    DroppedWhile dropped_while;     ///< of heaps_dropped_full
    CutAtStart cut_at_start;        ///< of heaps that stayed incomplete
    NoMemoryWhile no_memory_while;  ///< of packets that had no memory for their heap
    /// Lists unicast addresses of its endpoints that no network interface here has, so that ARP for them is
    /// not answered; filled in while nothing comes.
    std::vector<std::string> unowned;

    // Only for watched streams.
    std::string
        health;  ///< "ok", "silent", "losing", "slow", "losing, slow"; empty: not watched. Or kStalled
    std::array<bool, kMaxPaths> path_is_silent{};  ///< it brings nothing, while the other path does
    std::array<std::uint64_t, kStreamEvents> events{};
    std::optional<LastEvent> last_event;

    std::vector<SinkLoss> sink_losses;  ///< heaps or chunks that its sink lost without having failed
    std::string sink_failure;  ///< why its sink takes no more heaps, and how much it has kept; empty: it does

    // As configured.
    std::uint64_t queue_heaps = 0;  ///< how many the hand-over queues hold, of all lcores together
    double expected_rate = 0;       ///< `bytes` per second; 0: nothing is expected
    StreamSettings settings{};      ///< for cures

    /// Adds one lcore's block. `delivered` and `unwritten`: heaps of that block's queue that the consumer has
    /// finished, read not before the block.
    void add(const StreamCounters& block, std::uint64_t delivered, std::uint64_t unwritten = 0);
    /// Adds further counts of the stream, or of other streams.
    void add(const StreamSnapshot& other);
};

/// Names the state of a sender that has nothing left to send.
inline constexpr std::string_view kSendDone = "done";

struct SendSnapshot {
    std::string name;
    std::uint32_t number = 0;  ///< unique in the run, whatever its name; 0: unknown
    std::vector<std::string> endpoints;
    SendCounters counters;            ///< `heaps`: those with data
    std::uint64_t control_heaps = 0;  ///< sent stop heaps
    /// Counts heaps that were not made, to be in step with the sender of the other path.
    std::uint64_t left_out = 0;
    std::string port;
    std::string health;    ///< "ok" or "stuck"; empty: it is stopped, or its port is
    std::string suspects;  ///< likely causes why its port takes nothing; empty: it always has taken something
    std::array<std::uint64_t, kSendEvents> events{};
    std::optional<LastEvent> last_event;
    std::string impair{};  ///< impairments of its packets; empty: none
    /// Holds "sending", "stopped", "waiting" for its port, or kSendDone.
    std::string state{};
    SendSettings settings{};  ///< for cures

    void add(const SendSnapshot& other) noexcept {
        counters.add(other.counters);
        control_heaps += other.control_heaps;
        left_out += other.left_out;
    }
};

struct NicSnapshot {
    std::uint64_t missed = 0;       ///< rte_eth_stats.imissed
    std::uint64_t no_mbuf = 0;      ///< rte_eth_stats.rx_nombuf
    std::uint64_t errors = 0;       ///< rte_eth_stats.ierrors + oerrors
    std::uint64_t send_errors = 0;  ///< of errors, oerrors
};

/// Describes a capture of a stream's packets into files.
struct CaptureSnapshot {
    struct File {
        std::string path;         ///< as the user named it
        std::uint64_t files = 0;  ///< written so far, with rotation
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;  ///< of the files, their heads included
    };
    std::uint64_t number = 0;  ///< of the captures of a run, in the order of their starts; 0: not of a run
    std::string stream;
    bool only = false;               ///< its packets end in the capture
    bool former = false;             ///< the stream was removed since; another may have its name
    bool over = false;               ///< it takes no more packets: it has its limit, or a file failed
    bool ending = false;             ///< it was stopped; buffered data is still being written
    bool finished = false;           ///< all files are complete
    std::string failure;             ///< why a file could not be written, and how much it keeps; empty: no
                                     ///< failure
    double seconds = 0;              ///< since it began; of a finished one its duration
    std::uint64_t taken = 0;         ///< packets put into the buffer
    std::uint64_t taken_bytes = 0;   ///< of them, as kept
    std::uint64_t dropped_full = 0;  ///< packets for which the buffer had no room
    std::uint64_t written = 0;       ///< packets in files
    std::uint64_t unwritten = 0;     ///< taken, and lost because a file could not be written
    std::uint64_t ended = 0;         ///< packets that came when the capture was over
    std::uint64_t cut = 0;           ///< of those taken: longer than the snap length
    std::vector<File> files;

    /// Returns the packets taken that are on their way to the files.
    std::uint64_t buffered() const noexcept { return taken - written - unwritten; }
};

/// Describes captures that are sent again.
struct ReplaySnapshot {
    std::vector<std::string> files;
    bool resident = false;  ///< all of them are in memory; else they are read again for each pass
    // In one pass: records = frames + the others.
    std::uint64_t records = 0;
    std::uint64_t frames = 0;    ///< ready to send
    std::uint64_t cut = 0;       ///< hold less than was on the wire
    std::uint64_t runts = 0;     ///< shorter than an Ethernet header
    std::uint64_t too_long = 0;  ///< longer than the port sends
    std::uint64_t not_udp = 0;   ///< cannot have another destination
    // In the whole run.
    std::uint64_t packets = 0;    ///< given to the driver
    std::uint64_t bytes = 0;      ///< of their frames
    std::uint64_t zero_copy = 0;  ///< of packets: sent without a copy
    std::uint64_t late = 0;       ///< of packets: more than 1 ms after their time
    std::uint64_t most_late_ns = 0;
    std::uint64_t passes = 0;  ///< complete
    std::uint64_t tx_full = 0;
    std::uint64_t stalls = 0;
    std::uint64_t starved = 0;  ///< times that reading was waited for
    std::string impair{};       ///< impairments of its packets; empty: none
    SendCounters impaired{};    ///< the sender's `impaired_...` counters
};

/// Describes a rule of a port's steering, as of the run's end (rules are not read while packets come).
struct RuleSnapshot {
    std::string endpoint;
    std::vector<std::uint16_t> queues;
    std::string text;  ///< as the device has it
    std::optional<std::uint64_t> hits;
};

/// Describes a sender, estimated from samples.
struct TalkerSnapshot {
    std::string source;         ///< address
    std::string stream;         ///< empty: its packets were for no stream
    std::uint64_t packets = 0;  ///< estimate, not too low by construction of the table, exact on average
    std::uint64_t excess = 0;   ///< of them, at most so many were from others
    std::uint32_t key = 0;      ///< sender_key() of the source
};

/// Counts UDP packets to one endpoint: that the rules of a port left to the kernel, or that no stream names.
struct PassedSnapshot {
    std::string endpoint;
    std::string source;  ///< of one of them
    std::uint64_t packets = 0;
};

struct PortSnapshot {
    static constexpr std::size_t kTalkers = 16;
    static constexpr std::size_t kPassed = 4;

    std::string name;
    std::string driver;
    std::string steering;
    std::string state;  ///< "running", "stopped", "closed", or "detached": its network interface is detached
    std::array<std::uint64_t, kPortOutcomes> rx{};
    std::uint64_t rx_packets = 0;  ///< sum of `rx`
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_vlan_tagged = 0;
    std::uint64_t rx_multi_segment = 0;
    std::uint64_t rx_oversized_frames = 0;
    std::uint32_t rx_longest_payload = 0;  ///< bytes of UDP payload, the most that such a frame had
    std::uint64_t rx_gather_full = 0;      ///< polls that left a queue alone, because engines were behind
    std::uint64_t rx_hosts_full = 0;       ///< frames that our own hosts never saw (IGMP, ARP, MLD, NDP)
    ReassemblyCounts reassembly;
    /// Holds the datagrams that may be in the making from IP fragments; 0: the port reassembles none.
    std::uint64_t reassembly_places = 0;
    ActiveTime rx_active;  ///< packets that came
    ActiveTime tx_active;  ///< packets that were sent
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_dropped = 0;
    std::uint64_t tx_host_frames = 0;  ///< of our own hosts, not in tx_packets
    NicSnapshot nic;
    std::vector<RuleSnapshot> rules;
    std::uint64_t rx_bursts = 0;
    std::uint64_t rx_full_bursts = 0;
    BurstSizes rx_burst_sizes{};
    /// Holds the free buffers of the receive queue that came closest to having none; none if packets are in
    /// foreign buffers.
    struct Buffers {
        std::uint32_t size = 0;
        std::uint32_t fewest_free = 0;         ///< when looked at, every millisecond
        std::uint32_t fewest_free_minute = 0;  ///< within the last minute
        std::uint32_t fewest_free_now = 0;     ///< since the snapshot before
    };
    std::optional<Buffers> buffers;
    std::uint64_t rx_descriptors = 0;  ///< of a receive queue
    bool link_down = false;            ///< it is known to have no link
    bool joins_groups = false;         ///< the kernel, or a host of ours, reports its groups to the network

    // Only in detailed snapshots.
    std::vector<TalkerSnapshot> talkers;     ///< kTalkers at most, most packets first
    std::uint64_t talkers_others = 0;        ///< packets of senders that are not among them
    std::uint64_t talkers_unattributed = 0;  ///< packets that are no IPv4 datagrams, or await the next sample
    MissedWhile missed_while;                ///< of nic.missed
    std::uint64_t missed_at_start = 0;       ///< of nic.missed: when no lcore fetched yet, after its starts
    NearLoss buffers_near;                   ///< buffers that were taken
    /// Lists packets without a rule that went to the kernel, most packets first; filled in while a stream
    /// gets nothing, if the port's rules can count them.
    std::vector<PassedSnapshot> passed;
    /// Lists destinations of packets for no stream, most packets first. Counts are not too high.
    std::vector<PassedSnapshot> strays;
    PortSettings settings{};  ///< for cures

    void add(const RxCounters& queue);
};

/// Holds one lcore's part of the run; the sums of all lcores are the streams' and the ports'.
struct LcoreSnapshot {
    struct Received {
        std::string name;            ///< of the stream or the port
        std::uint64_t received = 0;  ///< packets
        std::uint32_t number = 0;    ///< of the stream
    };
    unsigned lcore = 0;
    unsigned cpu = 0;
    std::string poll;  ///< its idle mode
    // For a silent lcore these are the values of its last answer.
    double silent_s = 0;         ///< how long it has not answered; 0: it answers
    std::uint64_t silences = 0;  ///< how often, for a second or longer
    std::string activity;        ///< its thread's activity meanwhile, as a clause; empty: unknown
    std::vector<Received> streams;
    std::uint64_t removed = 0;  ///< packets of streams that were removed
    std::vector<Received> ports;
    std::vector<std::string> sends;
    LcoreCounters counters;
    std::uint64_t longest_loop_minute = 0;  ///< counters.longest_loop within the last minute
    std::uint64_t longest_loop_now = 0;     ///< ... since the detailed snapshot before
    NearLoss held_up;                       ///< nanoseconds of a loop, of those that fill its port's queue
    std::uint64_t bursts = 0;               ///< of its receive queues, as the next two
    std::uint64_t full_bursts = 0;
    BurstSizes burst_sizes{};

    void add(const RxCounters& queue);
    /// Returns "lcore 2 on CPU 3".
    std::string where() const;
    /// Returns "lcore 2 on CPU 3 has not answered for 1.5 s: it is stopped, by a debugger or SIGSTOP"; empty:
    /// it answers.
    std::string silence() const;
};

/// Holds an engine that moves payload (`gather`).
struct EngineSnapshot {
    std::string name;  ///< "cuda"
    /// Lists the streams whose packets wait while it stands still: those of the engine, and others of the
    /// same receive queues.
    std::vector<std::string> streams;
    double quiet_s = 0;        ///< for how long it has moved nothing of what it has, however short that is
    double stalled_s = 0;      ///< for how long it has stood still; 0: it works
    std::uint64_t stalls = 0;  ///< how often it stood still, for a second or longer
    double all_stalled_s = 0;  ///< all of them together

    /// Returns "engine cuda".
    std::string where() const;
    /// Returns "the engine `cuda` has moved nothing for 1.5 s; s0, s1 wait for it"; empty: it works.
    std::string stall() const;
};

/// Says which shard of its plan a run is. A whole plan is shard 0 of 1.
struct ShardSnapshot {
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    std::uint64_t endpoints_all = 0;    ///< of the plan, those that one shard each has
    std::uint64_t endpoints_mine = 0;   ///< of this process at present, likewise
    std::vector<std::string> shared{};  ///< names of streams here that every shard has; of a whole plan, none
};

struct Snapshot {
    double duration_s = 0;                    ///< since the start, or since the counters were cleared
    double cleared_s = 0;                     ///< when they were, since the start; 0: never
    double ticks_per_second = 0;              ///< of the lcores' clock
    bool detailed = false;                    ///< made for display, with all details
    std::vector<std::string> capabilities{};  ///< "CAP_NET_RAW": the capabilities of the process
    ShardSnapshot shard{};
    std::vector<LcoreSnapshot> lcores;
    std::vector<EngineSnapshot> engines;  ///< only in detailed snapshots
    std::vector<StreamSnapshot> streams;
    StreamSnapshot removed;  ///< streams that were removed during the run, all together
    std::vector<SendSnapshot> sends;
    SendSnapshot removed_sends;  ///< senders that were removed during the run, all together
    std::vector<PortSnapshot> ports;
    std::vector<CaptureSnapshot> captures;
    std::vector<ReplaySnapshot> replays;
    bool by_configuration = false;  ///< advice names configuration keys instead of command-line options
    RunSettings settings{};         ///< for cures
    /// Holds the losses and their causes, from the log that followed the run; none: diagnose() finds them
    /// from the counts alone.
    std::optional<std::vector<Finding>> findings;
};

/// Checks the identities of docs/counters.md, for the removed streams too. Returns one sentence for each that
/// does not hold; empty when all do:
///  - packets and bytes of a stream's endpoints = those of the stream;
///  - bursts = those of all sizes; full ones = those of the last size; an lcore's = those of its queues;
///  - ended = handed over + waiting + dropped at once; handed over = heaps whose latency is known;
///  - packets that ports sent = those of all senders, removed ones included (of runs that replay nothing);
///  - packets by sender + those of no sender = what the port received;
///  - an lcore's busy and idle cycles = all of its cycles;
///  - what the lcores received of a stream or from a port = what the stream or the port received;
///  - a port's rx packets = its refusals + what its streams received (summed over all ports and streams);
///  - a stream's received = the sum of its outcomes;
///  - started = complete + evicted + timed_out + flushed + live;
///  - complete + evicted + timed_out + flushed = delivered + unwritten + dropped_full + device_error +
///  queued;
///  - a capture's taken = written + unwritten + buffered, and nothing is buffered once it is finished;
///  - a replay's records = frames + those that cannot be sent;
///  - where packets end in the capture, a stream's captured = taken, capture_full = dropped_full.
std::vector<std::string> broken_identities(const Snapshot& snapshot);

}  // namespace spead::stats
