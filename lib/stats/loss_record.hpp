// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stats/losses.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Collects the circumstances of losses of packets and heaps, from detailed snapshots of one run that count
/// from its start. A loss is explained by the interval in which it happened: an lcore that was off its CPU
/// for three seconds of an hour was idle over the hour. Pure; control code, one thread.
class LossRecord {
  public:
    /// Takes the next snapshot, and writes into it all evidence that was collected so far.
    void observe(Snapshot& now);
    /// Takes a snapshot after a change. Losses of the meantime are explained as most were before: queues may
    /// have changed.
    void settle(Snapshot& now);

  private:
    struct PortCounts {
        std::uint64_t missed = 0;
        std::uint64_t bursts = 0;
        std::uint64_t full_bursts = 0;
        std::uint64_t gather_full = 0;
        MissedWhile evidence;
    };
    struct StreamCounts {
        std::uint64_t dropped_full = 0;
        std::uint64_t no_memory = 0;
        std::uint64_t incomplete = 0;
        std::uint64_t started = 0;
        double seen_s = 0;
        std::ptrdiff_t endpoints = 0;     ///< with packets
        double settled_s = 0;             ///< of the run; until then, and until ...
        std::uint64_t settled_heaps = 0;  ///< ... so many have begun, heaps may be cut by a join
        CutAtStart cut;
        DroppedWhile dropped;
        NoMemoryWhile memory;
    };

    std::vector<LcoreSnapshot> interval_of(const Snapshot& now);
    void observe_port(PortSnapshot& now, const std::vector<LcoreSnapshot>& interval, double ticks_per_second);
    void observe_stream(StreamSnapshot& now);
    static void observe_start(StreamCounts& before, StreamSnapshot& now, double seconds);

    std::map<std::string, PortCounts> ports_;
    std::map<std::uint32_t, StreamCounts> streams_;  ///< by number
    std::map<unsigned, LcoreCounters> lcores_;
};

/// Adds `packets` that port `p` missed in an interval to the evidence. `p` counts the interval's bursts and
/// polls that an engine kept from them, and
/// `lcores` the interval's cycles; their longest_loop is the longest in it.
void explain_missed(MissedWhile& evidence, std::uint64_t packets, const PortSnapshot& p,
                    const std::vector<LcoreSnapshot>& lcores, double ticks_per_second);
/// Adds heaps and packets of stream `s` likewise; `queue_most` were queued at most in the interval.
void explain_dropped(DroppedWhile& evidence, std::uint64_t heaps, std::uint64_t queue_capacity,
                     std::uint64_t queue_most);
void explain_no_memory(NoMemoryWhile& evidence, std::uint64_t packets, std::uint64_t queue_capacity,
                       std::uint64_t queue_most);

}  // namespace spead::stats
