// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// Holds the circumstances of losses: evidence that a sum over the whole run no longer holds.
/// stats/loss_record.hpp collects it; plain data, part of snapshots.
namespace spead::stats {

/// Counts packets of a port that were lost before an lcore fetched them, by the lcores' state.
struct MissedWhile {
    std::uint64_t busy = 0;           ///< an lcore was busy nearly all the time
    std::uint64_t interrupted = 0;    ///< an lcore was off its CPU
    std::uint64_t engine_behind = 0;  ///< an engine had moved too little payload to take more
    std::uint64_t idle = 0;           ///< none of these: more came at once than the port lets wait
    double most_busy = 0;  ///< largest fraction of the time that the lcore was busy, in the first case
    double most_full = 0;  ///< fraction of its bursts that were full, likewise
    double longest_s = 0;  ///< longest time off its CPU, in the second case
    unsigned busy_lcore = 0;
    unsigned interrupted_lcore = 0;

    std::uint64_t explained() const noexcept { return busy + interrupted + engine_behind + idle; }
};

/// Counts heaps of a stream that were discarded because the hand-over queue was full.
struct DroppedWhile {
    std::uint64_t queue_full = 0;      ///< every place was taken
    std::uint64_t memory_held = 0;     ///< there were places; waiting heaps held too much of the heap memory
    std::uint64_t queue_capacity = 0;  ///< places of the queue then
    std::uint64_t queue_most = 0;      ///< of them taken, at most

    std::uint64_t explained() const noexcept { return queue_full + memory_held; }
};

/// Counts heaps of a stream that stayed incomplete soon after the first packets of an endpoint.
struct CutAtStart {
    bool is_known = false;  ///< the run was followed
    std::uint64_t heaps = 0;
};

/// Counts packets of a stream that found no memory for their heap.
struct NoMemoryWhile {
    std::uint64_t consumer_held = 0;  ///< at least half of the hand-over queue was full
    std::uint64_t pool_full = 0;      ///< it was not
    std::uint64_t queue_most = 0;     ///< heaps that waited, at most, in the first case

    std::uint64_t explained() const noexcept { return consumer_held + pool_full; }
};

}  // namespace spead::stats
