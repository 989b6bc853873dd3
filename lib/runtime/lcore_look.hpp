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

/// What a look at one worker lcore brings. Private to lib/runtime.
namespace spead::runtime {

struct StreamLane;
struct SendStream;

/// A picture of everything that one lcore counts. The control world makes room and says what to look at; the
/// lcore takes the picture between two bursts; nobody else looks into it until then. So it may be taken late,
/// or never.
struct LcoreLook {
    /// The counts; with what explains them; and then times begin anew at that moment. High-water marks begin
    /// anew with each look that is not of counts alone.
    enum class Depth : std::uint8_t { counts, full, full_then_forget };

    struct OfLane {
        StreamLane* of = nullptr;  ///< whose it is; not the lcore's to touch
        recv::SpeadLane* lane = nullptr;
        const HeapTally* tally = nullptr;  ///< null: it has none any more
        stats::StreamCounters counts;
        HeapTally::Done done;
        capture::TapCounters tap;
        bool blocked = false;
        bool waits_for_memory = false;     ///< a packet has since the last look
        bool stopped = false;              ///< its window, by a stop item
        bool over = false;                 ///< stopped, and all its heaps were handed over
        std::vector<std::uint64_t> stops;  ///< lane->stops_seen, if asked for
        LaneDetails details;
    };
    struct OfSource {
        recv::Source* source = nullptr;
        stats::RxCounters counts;
        SourceDetails details;
    };
    struct OfSend {
        SendStream* stream = nullptr;  ///< whose it is; not the lcore's to touch
        const send::Sender* sender = nullptr;
        const port::ImpairedQueue* impaired = nullptr;  ///< through which it sends; usually null
        stats::SendCounters counts;
        bool stuck = false;

        /// Reads what the sender has counted; on its lcore.
        void take() noexcept;
    };

    LcoreLoop* loop = nullptr;
    Depth depth = Depth::counts;
    stats::LcoreCounters lcore;
    std::vector<OfLane> lanes;
    std::vector<OfSource> sources;
    std::vector<OfSend> sends;

    /// On the lcore. Allocates nothing.
    void take() noexcept;
};

}  // namespace spead::runtime
