// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.hpp"
#include "stats/counters.hpp"

/// One consistent picture of a run; the report, the prompt, telemetry and metrics are views of it.
namespace spead::stats {

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

    /// Adds one lcore's block. `taken` is how many heaps the consumer has taken from that block's queue, read
    /// once.
    void add(const StreamCounters& block, std::uint64_t taken);
    /// Adds what else the stream, or other streams, have counted.
    void add(const StreamSnapshot& other);
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

struct PortSnapshot {
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
    std::uint64_t removed = 0;  ///< packets of streams that were removed
    std::vector<Share> ports;
    std::vector<std::string> sends;
};

struct Snapshot {
    double duration_s = 0;
    std::vector<LcoreSnapshot> lcores;
    std::vector<StreamSnapshot> streams;
    StreamSnapshot removed;  ///< streams that were removed during the run, all together
    std::vector<SendSnapshot> sends;
    std::vector<PortSnapshot> ports;
};

/// The identities of docs/counters.md. Returns one sentence per identity that does not hold; empty when all
/// do, for the removed streams too:
///  - what the lcores received of a stream or from a port = what the stream or the port received;
///  - a port's rx packets = its refusals + what its streams received (summed over all ports and streams);
///  - a stream's received = the sum of its outcomes;
///  - started = complete + evicted + timed_out + flushed + live;
///  - complete + evicted + timed_out + flushed = delivered + dropped_full + queued.
std::vector<std::string> broken_identities(const Snapshot& snapshot);

}  // namespace spead::stats
