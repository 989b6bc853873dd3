// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/health_monitor.hpp"

#include <algorithm>

#include "runtime/paths.hpp"
#include "runtime/worker.hpp"

namespace spead::runtime {

namespace {

/// Holds the seconds between two checks (fifty a second) after which the main thread counts as stopped.
constexpr double kStoodStill = 1;

/// Holds the seconds after which one of two paths is silent, if the stream has no `silent_after`.
constexpr double kPathPatience = 1;

/// Returns no limits for a stream that is stopped.
HealthLimits limits_of(const ReceivePlan& r) {
    if (!r.enabled)
        return {};
    HealthLimits limits{r.silent_after, r.loss_threshold, r.expected_rate};
    if (has_two_paths(r))
        limits.path_silent_after = r.silent_after > 0 ? r.silent_after : kPathPatience;
    return limits;
}

void add_events(stats::StreamSnapshot& to, const StreamHealth& from) {
    for (std::size_t e = 0; e < stats::kStreamEvents; e++)
        to.events[e] += from.events(static_cast<stats::StreamEvent>(e));
}

/// Returns whether an lcore that receives the stream does not answer, or its engine moves nothing.
bool is_stalled(const Stream& stream) {
    return stream.waits_for_engine || std::any_of(stream.lanes.begin(), stream.lanes.end(),
                                                  [](const auto& lane) { return is_silent(*lane->worker); });
}

bool is_received(const HealthMonitor::Streams& streams, std::uint32_t number) {
    return std::any_of(streams.begin(), streams.end(),
                       [number](const auto& stream) { return stream->number == number; });
}

}  // namespace

void HealthMonitor::watch(const stats::Snapshot& now, const std::vector<ReceivePlan>& plans,
                          const Streams& streams, stats::StreamSnapshot& removed) {
    const bool stood_still = now.duration_s - last_watch_ > kStoodStill;
    last_watch_ = now.duration_s;
    for (std::size_t i = 0; i < plans.size(); i++) {
        const HealthLimits limits = limits_of(plans[i]);
        const std::uint32_t number = streams[i]->number;
        if (!limits.any() && !health_.contains(number))
            continue;
        StreamHealth& stream = health_.try_emplace(number, limits).first->second;
        // The counts of that time are unknown. The check restarts when its lcores answer, and when the whole
        // process continues after a stop.
        const bool stalled = is_stalled(*streams[i]);
        if (stream.limits() != limits || stalled || stood_still)
            stream.expect(limits);
        if (stalled)
            continue;
        for (const stats::LastEvent& event :
             stream.update(now.duration_s, StreamHealth::counts_of(now.streams[i])))
            events_.report(plans[i].name, event);
    }
    std::erase_if(health_, [&](const auto& watched) {
        if (is_received(streams, watched.first))
            return false;
        add_events(removed, watched.second);
        return true;
    });
}

void HealthMonitor::add_to(stats::Snapshot& snap, const Streams& streams) const {
    for (std::size_t i = 0; i < streams.size(); i++) {
        const auto found = health_.find(streams[i]->number);
        if (found == health_.end())
            continue;
        stats::StreamSnapshot& s = snap.streams[i];
        s.health = found->second.state();
        s.path_is_silent = found->second.silent_paths();
        add_events(s, found->second);
        s.last_event = found->second.last_event();
    }
    for (const auto& [number, watched] : health_)
        if (!is_received(streams, number))
            add_events(snap.removed, watched);
}

}  // namespace spead::runtime
