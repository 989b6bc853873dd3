// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "capture/tap.hpp"
#include "port/impaired_queue.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/details.hpp"
#include "runtime/heap_tally.hpp"
#include "runtime/lcore_loop.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

/// Holds a copy of one worker lcore's counts. Private to lib/runtime.
namespace spead::runtime {

struct StreamLane;
struct SendStream;

/// Holds a copy of all counts of one lcore. Control code allocates it and lists the objects; the lcore fills
/// it between two bursts. Until then no other thread reads it, so it may be filled late, or never.
struct LcoreLook {
    /// Says what is copied: the counts; all details too; or all, and times restart at that moment. High-water
    /// marks restart with each look that is not of counts alone.
    enum class Depth : std::uint8_t { counts, full, full_then_forget };

    struct OfLane {
        StreamLane* of = nullptr;  ///< owner; the lcore does not touch it
        recv::SpeadLane* lane = nullptr;
        const HeapTally* tally = nullptr;  ///< null: it no longer has one
        stats::StreamCounters counts;
        HeapTally::Done done;
        capture::TapCounters tap;
        bool blocked = false;
        bool waits_for_memory = false;     ///< a packet has since the last look
        bool stopped = false;              ///< its window, by a stop item
        bool over = false;                 ///< stopped, and all its heaps were delivered
        std::vector<std::uint64_t> stops;  ///< lane->stops_seen, if asked for
        LaneDetails details;
    };
    struct OfSource {
        recv::Source* source = nullptr;
        stats::RxCounters counts;
        SourceDetails details;
    };
    struct OfSend {
        SendStream* stream = nullptr;  ///< owner; the lcore does not touch it
        const send::Sender* sender = nullptr;
        const port::ImpairedQueue* impaired = nullptr;  ///< through which it sends; usually null
        stats::SendCounters counts;
        bool stuck = false;

        /// Copies the sender's counts; on its lcore.
        void take() noexcept;
    };

    LcoreLoop* loop = nullptr;
    Depth depth = Depth::counts;
    stats::LcoreCounters lcore;
    std::vector<OfLane> lanes;
    std::vector<OfSource> sources;
    std::vector<OfSend> sends;

    /// Copies all counts, on the lcore. Allocates nothing.
    void take() noexcept;
};

}  // namespace spead::runtime
