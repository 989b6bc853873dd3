// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "recv/rx_agent.hpp"
#include "stats/counters.hpp"
#include "stats/strays.hpp"
#include "stats/stream_times.hpp"
#include "stats/talkers.hpp"
#include "wire/refused_heads.hpp"

/// Holds copies of an lcore's state of its streams and queues beyond their counter blocks. They are larger,
/// and are made only on request. Control code calls fit(), which allocates. The lcore calls take(), which
/// copies between two bursts.
namespace spead::runtime {

struct LaneDetails {
    std::vector<stats::EndpointCounters> endpoints;
    stats::StreamTimes times;
    wire::RefusedHeads refused;
    std::uint64_t queue_most = 0;  ///< since the last copy, as the next
    std::uint64_t pool_most = 0;

    void fit(const recv::SpeadLane& lane) { endpoints.resize(lane.endpoints.size()); }
    void take(recv::SpeadLane& lane) noexcept {
        for (std::size_t i = 0; i < endpoints.size() && i < lane.endpoints.size(); i++)
            endpoints[i] = lane.endpoints[i];
        const stats::StreamTimes* const tracked = lane.chunks ? lane.chunks->heap_times() : nullptr;
        times = tracked != nullptr ? *tracked : lane.window.times();
        refused = lane.refused;
        queue_most = lane.queue.most_queued();
        lane.queue.forget_most_queued();
        pool_most = lane.window.placer().most_out();
        lane.window.forget_most_out();
    }
};

struct SourceDetails {
    stats::Talkers talkers;
    stats::Strays strays;
    std::uint64_t unattributed = 0;

    void take(const recv::Source& source) noexcept {
        talkers = source.talkers;
        strays = source.strays;
        unattributed = source.unattributed;
    }
};

}  // namespace spead::runtime
