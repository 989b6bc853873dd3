// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// Streams of which something is expected: what befalls them is told once, by every way there is.
namespace spead::runtime {

namespace {

/// Seconds between two looks, which are fifty a second, that say that the main thread did not run.
constexpr double kStoodStill = 1;

/// Of a stream that is stopped nothing is expected.
HealthLimits limits_of(const ReceivePlan& r) {
    return r.enabled ? HealthLimits{r.silent_after, r.loss_threshold, r.expected_rate} : HealthLimits{};
}

void add_events(stats::StreamSnapshot& to, const StreamHealth& from) {
    for (std::size_t e = 0; e < stats::kStreamEvents; e++)
        to.events[e] += from.events(static_cast<stats::StreamEvent>(e));
}

}  // namespace

bool Engine::State::is_received(std::uint32_t number) const {
    return std::any_of(streams.begin(), streams.end(),
                       [number](const auto& stream) { return stream->number == number; });
}

/// `now` counts since the start.
void Engine::State::watch_streams(const stats::Snapshot& now) {
    const bool stood_still = now.duration_s - last_watch > kStoodStill;
    last_watch = now.duration_s;
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        const HealthLimits limits = limits_of(plan.receives[i]);
        const std::uint32_t number = streams[i]->number;
        if (!limits.any() && !health.contains(number))
            continue;
        StreamHealth& stream = health.try_emplace(number, limits).first->second;
        // What the stream has had meanwhile is not known; it is judged anew when its lcores answer, and when
        // the whole process goes on after it was stopped.
        const bool stalled = is_stalled(*streams[i]);
        if (stream.limits() != limits || stalled || stood_still)
            stream.expect(limits);
        if (stalled)
            continue;
        for (const stats::LastEvent& event :
             stream.update(now.duration_s, StreamHealth::counts_of(now.streams[i])))
            tell(plan.receives[i].name, event);
    }
    std::erase_if(health, [this](const auto& watched) {
        if (is_received(watched.first))
            return false;
        add_events(removed, watched.second);
        return true;
    });
    if (event_command)
        event_command->poll();
}

/// Whether an lcore that receives the stream is silent.
bool Engine::State::is_stalled(const Stream& stream) {
    return std::any_of(stream.parts.begin(), stream.parts.end(),
                       [](const auto& part) { return is_silent(*part->worker); });
}

void Engine::State::tell(const std::string& stream, const stats::LastEvent& event) {
    if (event.kind == stats::StreamEvent::sink_failed)
        log_error(LogType::runtime, "{}", sentence_of(stream, event));
    else if (is_bad(event.kind))
        log_warning(LogType::runtime, "{}", sentence_of(stream, event));
    else
        log_notice(LogType::runtime, "{}", sentence_of(stream, event));
    if (surroundings.on_event)
        surroundings.on_event(stream, event);
    if (event_command)
        event_command->run({{"SPEAD_STREAM", stream},
                            {"SPEAD_EVENT", std::string(stats::name_of(event.kind))},
                            {"SPEAD_TEXT", event.text},
                            {"SPEAD_TIME", fmt::format("{:.3f}", event.at_s)},
                            {"SPEAD_NAME", plan.runtime.name}});
}

void Engine::State::add_health(stats::Snapshot& snap) const {
    for (std::size_t i = 0; i < streams.size(); i++) {
        const auto found = health.find(streams[i]->number);
        if (found == health.end())
            continue;
        stats::StreamSnapshot& s = snap.streams[i];
        s.health = found->second.state();
        add_events(s, found->second);
        s.last_event = found->second.last_event();
    }
    for (const auto& [number, watched] : health)
        if (!is_received(number))
            add_events(snap.removed, watched);
}

}  // namespace spead::runtime
