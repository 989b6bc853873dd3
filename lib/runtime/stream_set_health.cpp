// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/core.h>
#include <rte_cycles.h>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "runtime/capture_set.hpp"
#include "runtime/stream_set.hpp"

/// Reports events of streams: failed sinks, jumps of the time, slow callbacks, silent lcores, and consumers
/// that delay them.
namespace spead::runtime {

void StreamSet::watch_sinks(double now) {
    now_ = now;
    for (const auto* const all : {&current_, &removed_})
        for (const auto& s : *all) {
            look_at_chunks(*s);
            if (s->sinks.current())
                look_at_sink(*s, *s->sinks.current());
            for (const auto& sink : s->sinks.former())
                look_at_sink(*s, *sink);
        }
}

/// Reports a place callback that takes much of an lcore's time.
void StreamSet::look_at_callback(Stream& stream, StreamLane& lane) {
    const Worker& w = *lane.worker;
    const std::optional<double> share =
        lane.callback_watch.update(lane.counts.callback.cycles, w.counts.lcore.cycles, rte_get_tsc_hz());
    if (!share)
        return;
    stream.past.count(stats::StreamEvent::callback_slow);
    stream.last_event = {
        stats::StreamEvent::callback_slow, now_,
        fmt::format("its place callback takes {:.0f} % of the time of lcore {} on CPU {}; do "
                    "less in it, or use more lcores",
                    *share * 100, w.layout->lcore, w.layout->cpu)};
    events_.report(stream.name, *stream.last_event);
}

/// Reports jumps of the time, and slow place callbacks.
void StreamSet::look_at_chunks(Stream& stream) {
    if (!stream.chunks)
        return;
    for (const auto& lane : stream.lanes)
        look_at_callback(stream, *lane);
    const std::uint64_t jumps = stream.chunks->new_resyncs();
    if (jumps == 0)
        return;
    for (std::uint64_t i = 0; i < jumps; i++)
        stream.past.count(stats::StreamEvent::resync);
    stream.last_event = {stats::StreamEvent::resync, now_,
                         fmt::format("the time of its packets jumped; its chunks continue near {}",
                                     stream.chunks->window().head())};
    events_.report(stream.name, *stream.last_event);
}

/// Reports a failed sink once.
void StreamSet::look_at_sink(Stream& stream, Sink& sink) {
    const std::optional<std::string> news = sink.news();
    if (!news)
        return;
    stream.past.count(stats::StreamEvent::sink_failed);
    stream.last_event = {stats::StreamEvent::sink_failed, now_, "its sink takes no more heaps: " + *news};
    events_.report(stream.name, *stream.last_event);
    problems_.push_back(fmt::format("stream {}: {}", stream.name, stream.last_event->text));
}

void StreamSet::watch_captures(CaptureSet& captures, double now) {
    for (const CaptureSet::Failure& failed : captures.new_failures(current_)) {
        const stats::LastEvent event{stats::StreamEvent::capture_failed, now,
                                     "its capture is over: " + failed.text};
        const auto stream =
            std::ranges::find_if(current_, [&failed](const auto& s) { return s->name == failed.stream; });
        if (!failed.former && stream != current_.end()) {
            (*stream)->past.count(event.kind);
            (*stream)->last_event = event;
        }
        events_.report(failed.stream, event);
    }
}

/// Adds the latest events, after HealthMonitor::add_to().
void StreamSet::add_last_events(stats::Snapshot& snap) const {
    for (std::size_t i = 0; i < current_.size(); i++) {
        stats::StreamSnapshot& s = snap.streams[i];
        const std::optional<stats::LastEvent>& event = current_[i]->last_event;
        if (event && (!s.last_event || s.last_event->at_s <= event->at_s))
            s.last_event = event;
    }
}

std::vector<std::string> StreamSet::note_silence(const Worker& worker, bool silent, double now,
                                                 const std::string& text) {
    std::vector<std::size_t> streams;
    for (std::size_t i = 0; i < current_.size(); i++)
        if (lane_on(*current_[i], worker) != nullptr)
            streams.push_back(i);
    return note_stall(streams, silent, now, text);
}

std::vector<std::string> StreamSet::note_stall(const std::vector<std::size_t>& streams, bool stalled,
                                               double now, const std::string& text) {
    std::vector<std::string> names;
    for (const std::size_t i : streams) {
        Stream& stream = *current_[i];
        names.push_back(stream.name);
        const stats::StreamEvent kind = stalled ? stats::StreamEvent::stalled : stats::StreamEvent::back;
        stream.past.count(kind);
        stream.last_event = {kind, now, text};
    }
    return names;
}

std::vector<std::size_t> StreamSet::waiting_for(HeapEngine engine,
                                                const std::vector<ReceivePlan>& plans) const {
    const auto share_a_queue = [&](std::size_t i, std::size_t j) {
        return !all_paths(plans[i], [&](const std::string& port) { return !receives_on(plans[j], port); }) &&
               std::ranges::any_of(current_[i]->lanes, [&](const auto& lane) {
                   return lane_on(*current_[j], *lane->worker) != nullptr;
               });
    };
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < plans.size(); i++) {
        bool waits = plans[i].engine == engine && !current_[i]->lanes.empty();
        for (std::size_t j = 0; j < plans.size() && !waits; j++)
            waits = plans[j].engine == engine && share_a_queue(i, j);
        if (waits)
            waiting.push_back(i);
    }
    return waiting;
}

void StreamSet::look_for_engines(const std::vector<ReceivePlan>& plans) {
    for (const auto& s : current_)
        s->waits_for_engine = false;
    for (const auto& [engine, watch] : makers_.engines->watches())
        if (watch.may_stand_still())
            for (const std::size_t i : waiting_for(engine, plans))
                current_[i]->waits_for_engine = true;
}

void StreamSet::forget_peaks() {
    for (const auto* const list : {&current_, &removed_})
        for (const auto& stream : *list)
            stream->past.forget_peaks();
    runtime::forget_peaks(removed_counts_);
}

void StreamSet::look_for_blocked() {
    for (const auto* const list : {&current_, &removed_})
        for (const auto& s : *list) {
            const std::vector<const StreamLane*> lanes = s->all_lanes();
            // Users' windows hand over whatever has ended; what then waits is packets.
            s->blocked = s->chunks && s->chunks->holds_sources_up();
            s->blocked |= std::any_of(lanes.begin(), lanes.end(), [](const StreamLane* p) {
                return p->blocked || (p->users && p->waits_for_memory);
            });
        }
}

std::vector<std::string> StreamSet::blocked() const {
    std::vector<std::string> names;
    for (const auto* const list : {&current_, &removed_})
        for (const auto& s : *list)
            if (s->blocked)
                names.push_back(s->name);
    return names;
}

/// Returns losses of streams whose source could wait. Such a stream loses packets only if more heaps were in
/// flight at once than the memory holds, or if it no longer waited for its consumer, which was reported.
std::vector<std::string> StreamSet::lost_although_waited() {
    std::vector<std::string> problems;
    if (consumers_.failed() || consumers_.budget_used_up())
        return problems;
    for (const auto& s : current_)
        for (const auto& lane : s->lanes) {
            if (lane->chunks) {
                const std::uint64_t lost =
                    lane->rx->chunks->can_wait() ? lane->counts[PacketOutcome::no_chunk] : 0;
                if (lost != 0)
                    problems.push_back(
                        fmt::format("stream {}: {} lost although the source could wait: no chunk was free; "
                                    "raise `chunks` of [receive.chunk]",
                                    s->name, counted_were(lost, "packets")));
                continue;
            }
            const heap::WindowConfig& window = lane->rx->config.window;
            const Worker& w = *lane->worker;
            const std::uint64_t lost =
                lcores_
                    .try_ask(
                        *lane->worker,
                        [](const recv::SpeadLane* rx) {
                            const stats::StreamCounters& c = rx->counters;
                            return rx->window.waits() ? c[PacketOutcome::no_memory] - c.packets_at_limit : 0;
                        },
                        static_cast<const recv::SpeadLane*>(lane->rx.get()))
                    .value_or(0);
            if (lost != 0)
                problems.push_back(
                    fmt::format("stream {}: {} lost although the source could wait: more "
                                "heaps were in flight at "
                                "once than the memory holds ({} for {} on lcore {}; {} may be "
                                "live, and one more "
                                "begins); raise {}",
                                s->name, counted_were(lost, "packets"), human_size(lane->arena->capacity()),
                                counted(lane->owns_arena ? 1 : w.lanes.size(), "streams"), w.layout->lcore,
                                counted(window.live_capacity(), "heaps"),
                                lane->owns_arena ? "its `memory`" : "`[memory] heaps` (--memory)"));
        }
    return problems;
}

}  // namespace spead::runtime
