// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.hpp"
#include "stats/counters.hpp"
#include "stats/distribution.hpp"
#include "stats/stream_event.hpp"

/// One consistent picture of a run; the report, the prompt, telemetry and metrics are views of it.
namespace spead::stats {

/// One endpoint of a stream; ranges are told address by address.
struct EndpointSnapshot {
    std::string name;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< payload placed into heaps
};

/// What befell a stream last.
struct LastEvent {
    StreamEvent kind{};
    double at_s = 0;   ///< of the run
    std::string text;  ///< a sentence, without the stream's name
};

struct StreamSnapshot {
    std::string name;
    std::vector<std::string> endpoints;  ///< as the user wrote them
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::uint64_t received = 0;  ///< sum of `packets`
    std::uint64_t heaps_started = 0;
    std::array<std::uint64_t, kHeapEnds> heaps_ended{};
    std::uint64_t heaps_live = 0;
    std::uint64_t heaps_delivered = 0;
    std::uint64_t heaps_dropped_full = 0;
    std::uint64_t heaps_queued = 0;
    std::uint64_t packets_reordered = 0;
    std::uint64_t heaps_interleaved_evictions = 0;
    std::uint64_t stop_items = 0;
    std::uint64_t heaps_verified = 0;  ///< by a verifying sink: compared and right
    std::uint64_t heaps_wrong = 0;     ///< ... and wrong
    // As configured.
    std::uint64_t queue_heaps = 0;           ///< how many the hand-over queues hold, of all lcores together
    double expected_rate = 0;                ///< `bytes` per second; 0: nothing is expected
    std::uint64_t heaps_handed_over = 0;     ///< put into the hand-over queue
    std::uint64_t heaps_dropped_oldest = 0;  ///< of heaps_dropped_full, those taken out of the queue again
    std::uint64_t heaps_waiting = 0;         ///< of heaps_queued, those that are not in the queue yet
    std::uint64_t control_bytes = 0;         ///< not in `bytes`: of heaps that carried stream control only

    /// What was under way when the counters were cleared, and is counted as ending after that.
    struct Carried {
        std::uint64_t live = 0;
        std::uint64_t queued = 0;
        std::uint64_t waiting = 0;
    };
    Carried carried;

    // Of detailed snapshots only.
    std::vector<EndpointSnapshot> by_endpoint;
    Distribution latency;  ///< of heaps: first packet to hand-over
    Distribution gap;      ///< between the beginnings of heaps
    // High-water marks, of the lcore that came closest to its limit.
    std::uint64_t ring_heaps = 0;  ///< places of the hand-over queue
    std::uint64_t ring_most = 0;   ///< most heaps that were queued
    std::uint64_t pool_bytes = 0;  ///< heap memory that the stream can count on
    std::uint64_t pool_most = 0;   ///< most that it had; more than pool_bytes if it could borrow

    // Of streams that are watched.
    std::string health;  ///< "ok", "silent", "losing", "slow", "losing, slow"; empty: not watched
    std::array<std::uint64_t, kStreamEvents> events{};
    std::optional<LastEvent> last_event;

    /// Adds one lcore's block. `taken` is how many heaps the consumer has taken from that block's queue, read
    /// once.
    void add(const StreamCounters& block, std::uint64_t taken);
};

struct SendSnapshot {
    std::string name;
    std::vector<std::string> endpoints;
    SendCounters counters;            ///< `heaps`: those with data
    std::uint64_t control_heaps = 0;  ///< sent stop heaps
};

struct NicSnapshot {
    std::uint64_t missed = 0;   ///< rte_eth_stats.imissed
    std::uint64_t no_mbuf = 0;  ///< rte_eth_stats.rx_nombuf
    std::uint64_t errors = 0;   ///< rte_eth_stats.ierrors + oerrors
};

/// A rule of a port's steering, as it was when the run ended (rules are not asked for while packets come).
struct RuleSnapshot {
    std::string endpoint;
    std::vector<std::uint16_t> queues;
    std::string text;  ///< as the device has it
    std::optional<std::uint64_t> hits;
};

/// A sender, as far as samples tell.
struct TalkerSnapshot {
    std::string source;         ///< address
    std::string stream;         ///< empty: no stream wanted its packets
    std::uint64_t packets = 0;  ///< estimate, not too low by construction of the table, exact on average
    std::uint64_t excess = 0;   ///< of them, so many at most may have been others'
};

struct PortSnapshot {
    static constexpr std::size_t kTalkers = 16;

    std::string name;
    std::string driver;
    std::string steering;
    std::array<std::uint64_t, kPortOutcomes> rx{};
    std::uint64_t rx_packets = 0;  ///< sum of `rx`
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_vlan_tagged = 0;
    std::uint64_t rx_multi_segment = 0;
    std::uint64_t rx_oversized_frames = 0;
    std::uint64_t rx_hosts_full = 0;  ///< IGMP and ARP frames that our own hosts never saw
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_dropped = 0;
    std::uint64_t tx_host_frames = 0;  ///< IGMP and ARP of our own, not in tx_packets
    NicSnapshot nic;
    std::vector<RuleSnapshot> rules;
    std::uint64_t rx_bursts = 0;
    std::uint64_t rx_full_bursts = 0;
    BurstSizes rx_burst_sizes{};
    /// Buffers of the receive queue that came closest to having none; none where packets are others' buffers.
    struct Buffers {
        std::uint32_t size = 0;
        std::uint32_t fewest_free = 0;  ///< when looked at, every millisecond
    };
    std::optional<Buffers> buffers;
    std::uint64_t rx_descriptors = 0;  ///< of a receive queue

    // Of detailed snapshots only.
    std::vector<TalkerSnapshot> talkers;  ///< kTalkers at most, most packets first
    std::uint64_t talkers_others = 0;     ///< packets of senders that are not among them
    std::uint64_t talkers_untold = 0;     ///< packets that are no IPv4 datagrams, or await the next sample

    void add(const RxCounters& queue);
};

/// What one lcore had of the run; the sums of all lcores are the streams' and the ports'.
struct LcoreSnapshot {
    struct Share {
        std::string name;            ///< of the stream or the port
        std::uint64_t received = 0;  ///< packets
    };
    unsigned lcore = 0;
    unsigned cpu = 0;
    std::string poll;  ///< what it does when idle
    std::vector<Share> streams;
    std::vector<Share> ports;
    std::vector<std::string> sends;
    LcoreCounters counters;
    std::uint64_t bursts = 0;  ///< of its receive queues, as the next two
    std::uint64_t full_bursts = 0;
    BurstSizes burst_sizes{};

    void add(const RxCounters& queue);
};

struct Snapshot {
    double duration_s = 0;        ///< since the start, or since the counters were cleared
    double cleared_s = 0;         ///< when they were, since the start; 0: never
    double ticks_per_second = 0;  ///< of the lcores' clock
    bool detailed = false;        ///< made to be shown, with everything
    std::vector<LcoreSnapshot> lcores;
    std::vector<StreamSnapshot> streams;
    std::vector<SendSnapshot> sends;
    std::vector<PortSnapshot> ports;
};

/// The identities of docs/counters.md. Returns one sentence per identity that does not hold; empty when all
/// do:
///  - packets and bytes of a stream's endpoints = those of the stream;
///  - bursts = those of all sizes; full ones = those of the last size; an lcore's = those of its queues;
///  - ended = handed over + waiting + dropped at once; handed over = heaps whose latency is known;
///  - packets by sender + those of no sender = what the port received;
///  - an lcore's busy and idle cycles = all of its cycles;
///  - what the lcores received of a stream or from a port = what the stream or the port received;
///  - a port's rx packets = its refusals + what its streams received (summed over all ports and streams);
///  - a stream's received = the sum of its outcomes;
///  - started = complete + evicted + timed_out + flushed + live;
///  - complete + evicted + timed_out + flushed = delivered + dropped_full + queued.
std::vector<std::string> broken_identities(const Snapshot& snapshot);

}  // namespace spead::stats
