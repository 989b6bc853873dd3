// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_counts.hpp"

#include <algorithm>
#include <utility>

namespace spead::runtime {

/// Marks the lcores that are silent now in a snapshot, which may be older.
void LcoreCounts::mark_silent(stats::Snapshot& snap) const {
    for (stats::LcoreSnapshot& l : snap.lcores)
        for (const auto& w : lcores_) {
            if (w->layout->lcore != l.lcore)
                continue;
            l.silent_s = is_silent(*w) ? std::chrono::duration<double>(w->watch.silence()).count() : 0;
            l.silences = w->watch.silences();
            l.activity = l.silent_s > 0 ? w->watch.activity() : std::string();
            if (l.silent_s > 0)
                for (const stats::LcoreSnapshot::Received& share : l.streams)
                    for (stats::StreamSnapshot& s : snap.streams)
                        if (s.number == share.number && s.state == "received")
                            s.health = stats::kStalled;
        }
}

/// Allocates a look, and fills in the objects to look at.
std::unique_ptr<LcoreLook> LcoreCounts::make_look(Worker& w, LcoreLook::Depth depth) {
    std::unique_ptr<LcoreLook> look = w.spare != nullptr ? std::move(w.spare) : std::make_unique<LcoreLook>();
    const bool full = depth != LcoreLook::Depth::counts;
    look->loop = w.loop.get();
    look->depth = depth;
    look->lanes.resize(w.lanes.size());
    for (std::size_t i = 0; i < w.lanes.size(); i++) {
        LcoreLook::OfLane& p = look->lanes[i];
        p.of = w.lanes[i];
        p.lane = w.lanes[i]->rx.get();
        p.tally = w.lanes[i]->tally();
        p.tap = w.lanes[i]->tap_counts;
        p.done = w.lanes[i]->done;
        p.stops.assign(plan_.end.exit_on_stop ? p.lane->stops_seen.size() : 0, 0);
        if (full)
            p.details.fit(*p.lane);
    }
    look->sources.resize(w.sources.size());
    for (std::size_t i = 0; i < w.sources.size(); i++)
        look->sources[i].source = w.sources[i].get();
    look->sends.clear();
    for (SendStream* const s : senders_.on(w))
        look->sends.push_back({s, s->sender.get(), s->impaired.get(), {}, false});
    return look;
}

/// Updates the counts of the worker's lcore. An lcore that is known to be silent is not waited for: it takes
/// the look when it answers again, unless the look was withdrawn for another request.
void LcoreCounts::update(Worker& w, LcoreLook::Depth depth) {
    if (w.lost)
        return;
    if (depth == LcoreLook::Depth::full_then_forget) {
        const auto take = [](std::unique_ptr<LcoreLook>& look) {
            look->take();
            return std::move(look);
        };
        keep(w, lcores_.ask(w, take, make_look(w, depth)));
        return;
    }
    std::unique_ptr<LcoreLook> look = lcores_.look(w, [&] { return make_look(w, depth); });
    if (look == nullptr)
        return;
    const bool enough = look->depth >= depth;
    keep(w, std::move(look));
    if (!enough)
        update(w, depth);
}

void LcoreCounts::keep(Worker& w, std::unique_ptr<LcoreLook> look) {
    const bool full = look->depth != LcoreLook::Depth::counts;
    w.counts.lcore = look->lcore;
    for (LcoreLook::OfLane& p : look->lanes) {
        StreamLane& lane = *p.of;
        lane.counts = p.counts;
        lane.done = p.done;
        lane.tap_counts = p.tap;
        lane.blocked = p.blocked;
        lane.waits_for_memory = p.waits_for_memory;
        lane.stopped = p.stopped;
        lane.over = p.over;
        std::swap(lane.stops, p.stops);
        if (full)
            std::swap(lane.details, p.details);
    }
    w.counts.ports.resize(look->sources.size());
    if (full)
        w.counts.sources.resize(look->sources.size());
    for (std::size_t i = 0; i < look->sources.size(); i++) {
        w.counts.ports[i] = look->sources[i].counts;
        if (full)
            w.counts.sources[i] = look->sources[i].details;
    }
    for (const LcoreLook::OfSend& s : look->sends) {
        s.stream->counts = s.counts;
        s.stream->stuck = s.stuck;
    }
    if (full)
        keep_peaks(w);
    w.spare = std::move(look);
}

/// Updates the high-water marks after a full look.
void LcoreCounts::keep_peaks(Worker& w) const {
    const double at_s = clock_.seconds();
    w.peaks.longest_loop.add(at_s, w.counts.lcore.longest_loop);
    w.peaks.buffers_taken.resize(w.sources.size());
    for (std::size_t n = 0; n < w.counts.ports.size(); n++) {
        const std::uint32_t size = ports_[w.source_ports[n]].device().rx_sizes().mbufs;
        if (const std::uint32_t free = w.counts.ports[n].fewest_free_mbufs;
            free != stats::RxCounters::kNeverLooked)
            w.peaks.buffers_taken[n].add(at_s, size - std::min(free, size));
    }
    for (StreamLane* const lane : w.lanes) {
        lane->queued.add(at_s, lane->details.queue_most);
        lane->memory_used.add(at_s, lane->details.pool_most);
    }
}

void LcoreCounts::forget_peaks() {
    for (const auto& w : lcores_) {
        w->peaks.forget();
        for (StreamLane* const lane : w->lanes) {
            lane->queued.forget();
            lane->memory_used.forget();
        }
    }
}

}  // namespace spead::runtime
