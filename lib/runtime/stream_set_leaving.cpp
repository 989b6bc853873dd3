// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <optional>

#include <rte_cycles.h>

#include "runtime/paths.hpp"
#include "runtime/stream_set.hpp"

/// Removes lanes of streams, and ends streams: by a stop item, or because their heaps are not taken.
namespace spead::runtime {

namespace {

enum class Flushed : std::uint8_t { no, partly, all };

/// Flushes the lane's heaps. A consumer that is waited for (on_full = block) makes room when it can.
Flushed flush(LcoreSet& lcores, const StreamLane& lane) {
    const auto flush_lane = [](const recv::RxAgent* receiver, recv::SpeadLane* rx, std::uint16_t slot) {
        // Not while a source still names it: a change that failed half way may leave that.
        for (const recv::Source* const s : receiver->sources())
            if (std::find(s->lanes.begin(), s->lanes.end(), slot) != s->lanes.end())
                return Flushed::no;
        if (rx->chunks && !rx->chunks->settled())
            return Flushed::no;
        if (rx->chunks)
            rx->chunks->leave();
        rx->window.reclaim();
        rx->window.flush(rte_rdtsc());
        return rx->window.has_ended() ? Flushed::partly : Flushed::all;
    };
    Worker& w = *lane.worker;
    return lcores.try_ask(w, flush_lane, &std::as_const(w.loop->receiver()), lane.rx.get(), lane.slot)
        .value_or(Flushed::no);
}

}  // namespace

bool StreamSet::any_leaving() const {
    for (const auto* const list : {&current_, &removed_})
        for (const auto& s : *list)
            if (!s->former_chunks.empty() || std::any_of(s->leaving.begin(), s->leaving.end(),
                                                         [](const Leaving& l) { return !l.waits_for_user; }))
                return true;
    return false;
}

void Stream::retire_lanes() {
    for (auto& lane : lanes)
        leaving.push_back({std::move(lane)});
    lanes.clear();
}

/// Gives lanes the buffers to lend that were still out when they were made: a stream's new lanes begin before
/// its former ones, and the heaps that users hold of those, are gone.
void StreamSet::grow_loans() {
    for (const auto& s : current_)
        for (const auto& lane : s->lanes)
            if (lane->rx->lent && !is_silent(*lane->worker) && lane->rx->lent->grow())
                static_cast<void>(lcores_.try_ask(
                    *lane->worker,
                    [](recv::LentBuffers* lent, std::uint32_t most) {
                        lent->allow(most);
                        return true;
                    },
                    lane->rx->lent.get(), lane->rx->lent->share()));
}

void StreamSet::let_go() {
    grow_loans();
    for (const auto& s : current_)
        if (s->is_leaving())
            let_go(*s);
    for (const auto& s : removed_) {
        let_go(*s);
        // The counts of a group go with its last stream.
        if (s->group && std::none_of(current_.begin(), current_.end(),
                                     [&s](const auto& other) { return other->group == s->group; }))
            removed_counts_.chunks.add(s->group->take_counts());
        if (s->is_leaving())
            continue;
        removed_counts_.add(s->past.sums());
        for (const auto& w : lcores_)
            w->former.stream_is_gone(s->number);
    }
    std::erase_if(removed_, [](const auto& s) { return !s->is_leaving(); });
}

/// Ends former chunks that no lane fills any more.
void Stream::let_go_of_chunks() {
    std::erase_if(former_chunks, [this](const std::shared_ptr<StreamChunks>& one) {
        if (std::any_of(leaving.begin(), leaving.end(),
                        [&one](const Leaving& l) { return l.lane->chunks == one; }))
            return false;
        one->close();
        if (!one->ended())
            return false;
        past.add_chunks(one->counts());
        return true;
    });
}

void StreamSet::let_go(Stream& stream) {
    for (std::size_t i = 0; i < stream.leaving.size();)
        if (leave(stream, stream.leaving[i])) {
            fold(stream, *stream.leaving[i].lane);
            stream.leaving.erase(stream.leaving.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            i++;
        }
    stream.let_go_of_chunks();
    const auto used = [&stream](const Sink& sink) {
        const auto fills = [&sink](const auto& chunks) { return &chunks->sink() == &sink; };
        if (std::any_of(stream.former_chunks.begin(), stream.former_chunks.end(), fills))
            return true;
        return std::any_of(stream.leaving.begin(), stream.leaving.end(),
                           [&sink](const Leaving& l) { return l.lane->sink.get() == &sink; });
    };
    for (const auto& sink : stream.sinks.take_unused(used)) {
        look_at_sink(stream, *sink);
        stream.past.add_sink(*sink);
    }
}

/// Takes the next step of the removal. Returns true when neither the lane's lcore nor the consumers know it.
bool StreamSet::leave(Stream& stream, Leaving& leaving) {
    StreamLane& lane = *leaving.lane;
    Worker& w = *lane.worker;
    // A look at a silent lcore is on its way, and at the lane.
    if (is_silent(w))
        return false;
    if (leaving.step == Leaving::Step::flush) {
        let_go_of_consumers(false);
        if (lane.users)
            lane.users->drop_if_abandoned();
        const Flushed flushed = flush(lcores_, lane);
        leaving.waits_for_user = lane.users && flushed == Flushed::partly;
        if (flushed != Flushed::all)
            return false;
        if (lane.rx->filter)
            lane.rx->filter->ending();
        lane.rx->queue.close();
        leaving.step = Leaving::Step::consume;
    }
    if (leaving.step == Leaving::Step::consume) {
        std::optional<HeapTally::Done> taken;
        if (lane.users) {
            lane.users->drop_if_abandoned();
            taken = lane.users->remove(*lane.user_queue);
            leaving.waits_for_user = !taken;
        } else if (lane.chunks) {
            taken.emplace();
        } else {
            taken = consumers_.remove(*lane.feed, lane.sink != stream.sinks.current());
        }
        if (!taken)
            return false;
        lane.done = *taken;
        lane.feed = nullptr;
        lane.user_queue.reset();
        leaving.step = Leaving::Step::reclaim;
    }
    struct Last {
        bool done = false;
        stats::StreamCounters counts;
        LaneDetails details;
    };
    // Heaps that users hold keep the lane alive, and the lcore need not see them again.
    const auto reclaim = [](recv::RxAgent* receiver, recv::SpeadLane* rx, std::uint16_t slot, bool lent,
                            Last& last) {
        rx->window.reclaim();
        last.done = lent || rx->window.records_out() == 0;
        if (rx->filter) {
            rx->filter->reclaim(rx->counters);
            last.done &= rx->filter->packets_out() == 0;
        }
        if (!last.done)
            return std::move(last);
        rx->window.set_quota(0);
        receiver->remove_lane(slot);
        for (recv::Source* const source : receiver->sources())
            source->talkers.forget_lane(slot);
        last.counts = rx->counts();
        last.details.take(*rx);
        return std::move(last);
    };
    Last room;
    room.details.fit(*lane.rx);
    auto last = lcores_.try_ask(w, reclaim, &w.loop->receiver(), lane.rx.get(), lane.slot,
                                lane.users != nullptr, std::move(room));
    if (!last || !last->done)
        return false;
    if (lane.rx->lent)
        lane.rx->lent->settle();
    lane.counts = last->counts;
    lane.details = std::move(last->details);
    return true;
}

/// Adds the lane's counts to the stream.
void StreamSet::fold(Stream& stream, const StreamLane& lane) {
    Worker& w = *lane.worker;
    stream.past.add_lane(lane.counts, done_of(lane), lane.details);
    for (const std::uint64_t n : lane.counts.packets)
        w.former.add(stream.number, n);
    std::erase(w.lanes, &lane);
}

/// Stops streams from waiting for consumers that have no memory, or have had their number of heaps.
void StreamSet::let_go_of_consumers(bool silent_too) {
    if (!consumers_.failed() && !consumers_.budget_used_up())
        return;
    for (const auto& w : lcores_) {
        if (w->lost || (!silent_too && w->watch.silent()))
            continue;
        std::vector<heap::Window*> windows;
        for (StreamLane* const lane : w->lanes)
            windows.push_back(&lane->rx->window);
        static_cast<void>(lcores_.try_ask(
            *w,
            [](const std::vector<heap::Window*>& all) {
                for (heap::Window* const window : all)
                    window->set_on_full(heap::FullPolicy::drop_newest);
            },
            std::move(windows)));
    }
}

void StreamSet::serve_chunks() noexcept {
    for (const auto& s : current_)
        if (s->chunks)
            s->chunks->serve();
}

/// Stops a stream on all lcores when a stop item has stopped it on one. A silent lcore is stopped when it
/// answers again.
void StreamSet::share_stops(const std::vector<ReceivePlan>& plans) {
    for (std::size_t i = 0; i < current_.size(); i++) {
        Stream& s = *current_[i];
        if (!plans[i].stop_on_stop_item || s.lanes.size() < 2 || s.stopped)
            continue;
        if (std::none_of(s.lanes.begin(), s.lanes.end(), [](const auto& lane) { return lane->stopped; }))
            continue;
        bool all = true;
        for (const auto& lane : s.lanes) {
            if (lane->worker->watch.silent())
                all = false;
            else if (!lane->stopped)
                lcores_.ask(
                    *lane->worker,
                    [](recv::SpeadLane* rx) {
                        rx->window.stop();
                        if (rx->chunks)
                            rx->chunks->stop();
                    },
                    lane->rx.get());
        }
        s.stopped = all;
    }
}

namespace {

/// Returns whether stop items of all endpoints have come. One path is enough, once the other one has had the
/// time that it may be behind; `since` notes when that began.
template <class Seen>
bool stopped_on_paths(const ReceivePlan& r, const Seen& has_seen,
                      std::optional<std::chrono::steady_clock::time_point>& since) {
    bool all = true;
    for (std::size_t i = 0; i < r.endpoints.size(); i++) {
        bool any = false;
        for_each_path(r, [&](std::size_t path, const std::string&, const std::vector<Endpoint>& endpoints) {
            const bool seen = has_seen(PathEndpoint{endpoints[i], static_cast<std::uint8_t>(path)});
            any |= seen;
            all &= seen;
        });
        if (!any)
            return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!since)
        since = now;
    return all || std::chrono::duration<double>(now - *since).count() >= r.path_skew;
}

}  // namespace

bool StreamSet::all_stopped(const std::vector<ReceivePlan>& plans) const {
    bool any = false;
    for (std::size_t i = 0; i < current_.size(); i++) {
        const Stream& s = *current_[i];
        if (!plans[i].enabled)
            continue;
        std::vector<char> seen(s.places.size(), 0);
        for (const auto& lane : s.lanes)
            for (std::size_t e = 0; e < std::min(seen.size(), lane->stops.size()); e++)
                if (lane->stops[e] != 0)
                    seen[e] = 1;
        const auto has_seen = [&](const PathEndpoint& e) {
            const std::size_t place = s.places.of(e);
            return place < seen.size() && seen[place] != 0;
        };
        if (!stopped_on_paths(plans[i], has_seen, current_[i]->stopped_on_one_path))
            return false;
        any |= !s.lanes.empty();
    }
    return any;
}

}  // namespace spead::runtime
