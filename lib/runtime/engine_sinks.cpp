// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "runtime/engine_state.hpp"

/// Sinks that have failed (a full disk): who is told, and whether the run has anything left to do.
namespace spead::runtime {

void Engine::State::watch_sinks() {
    for (const auto* const all : {&streams, &removed_streams})
        for (const auto& s : *all) {
            if (s->sink)
                look_at_sink(*s, *s->sink);
            for (const auto& sink : s->old_sinks)
                look_at_sink(*s, *sink);
        }
}

/// One that has failed is told of once.
void Engine::State::look_at_sink(Stream& stream, Sink& sink) {
    const std::optional<std::string> news = sink.news();
    if (!news)
        return;
    stream.past.events[static_cast<std::size_t>(stats::StreamEvent::sink_failed)]++;
    stream.last_event = {stats::StreamEvent::sink_failed,
                         std::chrono::duration<double>(Clock::now() - begin).count(),
                         "its sink takes no more heaps: " + *news};
    events.report(stream.name, *stream.last_event);
    problems.push_back(fmt::format("stream {}: {}", stream.name, stream.last_event->text));
}

/// A sink has failed, and its stream wants the run to end, or there is nothing else left that the run could
/// do.
bool Engine::State::sinks_over() const {
    bool any_failed = false;
    bool left =
        ends.stays() || std::any_of(senders.planned().begin(), senders.planned().end(),
                                    [](const auto& s) { return s->plan.enabled && !s->feeder->done(); });
    for (std::size_t i = 0; i < streams.size(); i++) {
        const ReceivePlan& r = plan.receives[i];
        const Stream& s = *streams[i];
        if (!r.enabled || !s.sink)
            continue;
        const bool failed = s.sink->failed();
        if (failed && r.sink.on_error == OnSinkError::end)
            return true;
        any_failed |= failed;
        left |= (s.capture && !s.capture->over()) || (!failed && !ports[r.port].device().exhausted());
    }
    return any_failed && !left;
}

/// After HealthMonitor::add_to().
void Engine::State::add_last_events(stats::Snapshot& snap) const {
    for (std::size_t i = 0; i < streams.size(); i++) {
        stats::StreamSnapshot& s = snap.streams[i];
        const std::optional<stats::LastEvent>& event = streams[i]->last_event;
        if (event && (!s.last_event || s.last_event->at_s <= event->at_s))
            s.last_event = event;
    }
}

}  // namespace spead::runtime
