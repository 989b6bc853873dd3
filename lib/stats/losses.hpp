// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Holds the circumstances of losses: evidence that a sum over the whole run no longer holds.
/// stats/loss_record.hpp collects it; plain data, part of snapshots.
namespace spead::stats {

/// Counts packets of a port that were lost before an lcore fetched them, by the lcores' state.
struct MissedWhile {
    std::uint64_t busy = 0;           ///< an lcore was busy nearly all the time
    std::uint64_t interrupted = 0;    ///< an lcore was off its CPU
    std::uint64_t engine_behind = 0;  ///< an engine had moved too little payload to take more
    std::uint64_t idle = 0;           ///< none of these: more came at once than the port lets wait
    std::uint64_t at_start = 0;       ///< no lcore fetched packets yet, since the port had just started
    double most_busy = 0;  ///< largest fraction of the time that the lcore was busy, in the first case
    double most_full = 0;  ///< fraction of its bursts that were full, likewise
    double longest_s = 0;  ///< longest time off its CPU, in the second case
    unsigned busy_lcore = 0;
    unsigned interrupted_lcore = 0;

    std::uint64_t explained() const noexcept { return busy + interrupted + engine_behind + idle + at_start; }
};

/// Counts heaps of a stream that were discarded because the hand-over queue was full.
struct DroppedWhile {
    std::uint64_t queue_full = 0;      ///< every place was taken
    std::uint64_t memory_held = 0;     ///< there were places; waiting heaps held too much of the heap memory
    std::uint64_t queue_capacity = 0;  ///< places of the queue then
    std::uint64_t queue_most = 0;      ///< of them taken, at most
    // Of the time from the first loss to the last one; 0: the run was not followed.
    double full_s = 0;               ///< seconds at whose end half of the places were taken, or more
    double room_s = 0;               ///< the others
    std::uint64_t spells = 0;        ///< times that losses began
    std::uint64_t most_of_once = 0;  ///< most heaps lost in one of them

    std::uint64_t explained() const noexcept { return queue_full + memory_held; }
};

/// Counts heaps or chunks that a sink lost without having failed, for want of one thing.
struct SinkLoss {
    enum class Lack : std::uint8_t {
        room,
        place,  ///< in its files
        engine  ///< that would fetch them; it is too slow, or stands still
    };
    Lack lack = Lack::room;
    std::uint64_t count = 0;
    std::string why;  ///< of the last of them
};

/// Counts looks at which something was close to its limit, and nothing was lost.
struct NearLoss {
    std::uint64_t times = 0;
    std::uint64_t most = 0;  ///< the closest
    std::uint64_t of = 0;    ///< the limit then
};

/// Counts heaps of a stream that stayed incomplete soon after the first packets of an endpoint, or a change.
struct CutAtStart {
    bool is_known = false;  ///< the run was followed
    std::uint64_t heaps = 0;
    std::uint64_t by_change = 0;  ///< that may have been under way when the stream or its port was changed
    std::uint64_t in_chunks = 0;  ///< of chunks that a change cut; not among the others
    /// Counts those of `heaps` that are no more than the endpoints that are new. Of chunks: heaps of streams
    /// that began to fill them later than others.
    std::uint64_t by_join = 0;
    /// Counts packets that found no item, since the first ones of their heaps came before a change: of the
    /// tracked way of chunks.
    std::uint64_t packets = 0;
    std::uint64_t packets_by_join = 0;  ///< likewise, before the first packets that came of an endpoint
};

// The words about heaps that a change has cut.
inline constexpr std::string_view kUnderWay = "they were under way when the stream or its port was changed";
inline constexpr std::string_view kNothingToDo =
    "no action is needed unless their number grows without a change";

/// Counts packets of a stream that found no memory for their heap.
struct NoMemoryWhile {
    std::uint64_t consumer_held = 0;  ///< at least half of the hand-over queue was full
    std::uint64_t pool_full = 0;      ///< it was not
    std::uint64_t queue_most = 0;     ///< heaps that waited, at most, in the first case

    std::uint64_t explained() const noexcept { return consumer_held + pool_full; }
};

}  // namespace spead::stats
