// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// Streams of which something is expected: what befalls them is told once, by every way there is.
namespace spead::runtime {

namespace {

HealthLimits limits_of(const ReceivePlan& r) {
    return {r.silent_after, r.loss_threshold, r.expected_rate};
}

bool is_bad(stats::StreamEvent e) {
    return e != stats::StreamEvent::back && e != stats::StreamEvent::recovered;
}

}  // namespace

/// `now` counts since the start.
void Engine::State::watch_streams(const stats::Snapshot& now) {
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        const HealthLimits limits = limits_of(plan.receives[i]);
        const std::string& name = plan.receives[i].name;
        const auto known = health.find(name);
        if (known != health.end() && known->second.limits() != limits)
            health.erase(known);
        if (!limits.any() || !plan.receives[i].enabled) {
            health.erase(name);
            continue;
        }
        StreamHealth& stream = health.try_emplace(name, limits).first->second;
        for (const stats::LastEvent& event :
             stream.update(now.duration_s, StreamHealth::counts_of(now.streams[i])))
            tell(name, event);
    }
    std::erase_if(health, [this](const auto& watched) {
        return std::none_of(plan.receives.begin(), plan.receives.end(),
                            [&watched](const ReceivePlan& r) { return r.name == watched.first; });
    });
    if (event_command)
        event_command->poll();
}

void Engine::State::tell(const std::string& stream, const stats::LastEvent& event) {
    if (event.kind == stats::StreamEvent::sink_failed)
        log_error(LogType::runtime, "stream {}: {}", stream, event.text);
    else if (is_bad(event.kind))
        log_warning(LogType::runtime, "stream {} is {}: {}", stream, stats::name_of(event.kind), event.text);
    else
        log_notice(LogType::runtime, "stream {}: {}", stream, event.text);
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
    for (stats::StreamSnapshot& s : snap.streams) {
        const auto found = health.find(s.name);
        if (found == health.end())
            continue;
        s.health = found->second.state();
        for (std::size_t e = 0; e < stats::kStreamEvents; e++)
            s.events[e] = found->second.events(static_cast<stats::StreamEvent>(e));
        s.last_event = found->second.last_event();
    }
}

}  // namespace spead::runtime
