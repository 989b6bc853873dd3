// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <rte_cycles.h>

#include "runtime/stream_set.hpp"

/// Parts of streams on their way out, and streams that end: by a stop item, or because nobody takes their
/// heaps.
namespace spead::runtime {

namespace {

enum class Flushed : std::uint8_t { no, in_part, all };

/// Ends the part's heaps. A consumer that is waited for (on_full = block) makes room when it can.
Flushed flush(LcoreSet& lcores, const Part& part) {
    const auto flush_lane = [](const recv::RxAgent* receiver, heap::Window* window, std::uint16_t slot) {
        // Not while a source still names it: a change that failed half way may leave that.
        for (const recv::Source* const s : receiver->sources())
            if (std::find(s->lanes.begin(), s->lanes.end(), slot) != s->lanes.end())
                return Flushed::no;
        window->reclaim();
        window->flush(rte_rdtsc());
        return window->has_ended() ? Flushed::in_part : Flushed::all;
    };
    Worker& w = *part.worker;
    return lcores.try_ask(w, flush_lane, &std::as_const(w.loop->receiver()), &part.lane->window, part.slot)
        .value_or(Flushed::no);
}

}  // namespace

bool StreamSet::any_leaving() const {
    for (const auto* const list : {&current_, &removed_})
        for (const auto& s : *list)
            if (std::any_of(s->leaving.begin(), s->leaving.end(),
                            [](const Leaving& l) { return !l.waits_for_user; }))
                return true;
    return false;
}

void Stream::send_parts_away() {
    for (auto& part : parts)
        leaving.push_back({std::move(part)});
    parts.clear();
}

void Stream::send_sink_away(std::shared_ptr<Sink> successor) {
    if (sink)
        old_sinks.push_back(std::move(sink));
    sink = std::move(successor);
}

void StreamSet::let_go() {
    for (const auto& s : current_)
        if (!s->leaving.empty())
            let_go(*s);
    for (const auto& s : removed_) {
        let_go(*s);
        if (!s->leaving.empty())
            continue;
        removed_counts_.add(s->past);
        for (const auto& w : lcores_)
            if (const auto past = w->past.find(s->number); past != w->past.end()) {
                w->removed += past->second;
                w->past.erase(past);
            }
    }
    std::erase_if(removed_, [](const auto& s) { return s->leaving.empty(); });
}

void StreamSet::let_go(Stream& stream) {
    for (std::size_t i = 0; i < stream.leaving.size();)
        if (leave(stream, stream.leaving[i])) {
            fold(stream, *stream.leaving[i].part);
            stream.leaving.erase(stream.leaving.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            i++;
        }
    std::erase_if(stream.old_sinks, [&](const std::shared_ptr<Sink>& sink) {
        if (std::any_of(stream.leaving.begin(), stream.leaving.end(),
                        [&sink](const Leaving& l) { return l.part->sink == sink; }))
            return false;
        look_at_sink(stream, *sink);
        stream.past.heaps_verified += sink->verified();
        stream.past.heaps_wrong += sink->wrong();
        return true;
    });
}

/// A step further on the way out; true when the part is no longer known to its lcore or the consumers.
bool StreamSet::leave(Stream& stream, Leaving& leaving) {
    Part& part = *leaving.part;
    Worker& w = *part.worker;
    // A look at a silent lcore is on its way, and at the part.
    if (is_silent(w))
        return false;
    if (leaving.step == Leaving::Step::flush) {
        let_go_of_consumers(false);
        if (part.users)
            part.users->drop_if_abandoned();
        const Flushed flushed = flush(lcores_, part);
        leaving.waits_for_user = part.users && flushed == Flushed::in_part;
        if (flushed != Flushed::all)
            return false;
        if (part.lane->filter)
            part.lane->filter->ending();
        part.lane->queue.close();
        leaving.step = Leaving::Step::consume;
    }
    if (leaving.step == Leaving::Step::consume) {
        std::optional<HeapTally::Done> taken;
        if (part.users) {
            part.users->drop_if_abandoned();
            taken = part.users->remove(*part.user_queue);
            leaving.waits_for_user = !taken;
        } else {
            taken = consumers_.remove(*part.feed, part.sink != stream.sink);
        }
        if (!taken)
            return false;
        part.done = *taken;
        part.feed = nullptr;
        part.user_queue.reset();
        leaving.step = Leaving::Step::reclaim;
    }
    struct Last {
        bool done = false;
        stats::StreamCounters counts;
        LaneDetails details;
    };
    // Heaps that users hold keep the lane alive, and the lcore need not see them again.
    const auto reclaim = [](recv::RxAgent* receiver, recv::SpeadLane* lane, std::uint16_t slot, bool lent,
                            Last& last) {
        lane->window.reclaim();
        last.done = lent || lane->window.records_out() == 0;
        if (lane->filter) {
            lane->filter->reclaim(lane->counters);
            last.done &= lane->filter->packets_out() == 0;
        }
        if (!last.done)
            return std::move(last);
        lane->window.set_quota(0);
        receiver->remove_lane(slot);
        for (recv::Source* const source : receiver->sources())
            source->talkers.forget_lane(slot);
        last.counts = lane->counters;
        last.details.take(*lane);
        return std::move(last);
    };
    Last room;
    room.details.fit(*part.lane);
    auto last = lcores_.try_ask(w, reclaim, &w.loop->receiver(), part.lane.get(), part.slot,
                                part.users != nullptr, std::move(room));
    if (!last || !last->done)
        return false;
    part.counts = last->counts;
    part.details = std::move(last->details);
    return true;
}

/// The stream keeps what its part has counted.
void StreamSet::fold(Stream& stream, const Part& part) {
    Worker& w = *part.worker;
    stream.past.add(part.counts, part.done.delivered, part.done.unwritten);
    for (const std::uint64_t n : part.counts.packets)
        w.past[stream.number] += n;
    stream.past_endpoints.resize(std::max(stream.past_endpoints.size(), part.details.endpoints.size()));
    for (std::size_t e = 0; e < part.details.endpoints.size(); e++)
        stream.past_endpoints[e].add(part.details.endpoints[e]);
    stream.past_times.latency.merge(part.details.times.latency);
    stream.past_times.gap.merge(part.details.times.gap);
    std::erase(w.parts, &part);
}

/// Consumers that have no memory, or had their number of heaps, take no more: no stream may wait for them.
void StreamSet::let_go_of_consumers(bool silent_too) {
    if (!consumers_.failed() && !consumers_.budget_used_up())
        return;
    for (const auto& w : lcores_) {
        if (w->lost || (!silent_too && w->watch.silent()))
            continue;
        std::vector<heap::Window*> windows;
        for (Part* const part : w->parts)
            windows.push_back(&part->lane->window);
        static_cast<void>(lcores_.try_ask(
            *w,
            [](const std::vector<heap::Window*>& all) {
                for (heap::Window* const window : all)
                    window->set_on_full(heap::OnFull::drop_newest);
            },
            std::move(windows)));
    }
}

/// A stop item comes to one lcore and stops the stream on all. A silent lcore is told when it is back.
void StreamSet::share_stops(const std::vector<ReceivePlan>& plans) {
    for (std::size_t i = 0; i < current_.size(); i++) {
        Stream& s = *current_[i];
        if (!plans[i].stop_on_stop_item || s.parts.size() < 2 || s.stopped)
            continue;
        if (std::none_of(s.parts.begin(), s.parts.end(), [](const auto& part) { return part->stopped; }))
            continue;
        bool all = true;
        for (const auto& part : s.parts) {
            if (part->worker->watch.silent())
                all = false;
            else if (!part->stopped)
                lcores_.ask(
                    *part->worker, [](heap::Window* window) { window->stop(); }, &part->lane->window);
        }
        s.stopped = all;
    }
}

bool StreamSet::all_stopped(const std::vector<ReceivePlan>& plans) const {
    bool any = false;
    for (std::size_t i = 0; i < current_.size(); i++) {
        const Stream& s = *current_[i];
        if (!plans[i].enabled)
            continue;
        const std::vector<Endpoint>& endpoints = plans[i].endpoints;
        std::vector<char> seen(s.places.size(), 0);
        for (const auto& part : s.parts)
            for (std::size_t e = 0; e < std::min(seen.size(), part->stops.size()); e++)
                seen[e] |= part->stops[e] != 0;
        for (std::size_t e = 0; e < seen.size(); e++)
            if (seen[e] == 0 && std::find(endpoints.begin(), endpoints.end(), s.places[e]) != endpoints.end())
                return false;
        any |= !s.parts.empty();
    }
    return any;
}

}  // namespace spead::runtime
