// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_look.hpp"

#include <algorithm>

namespace spead::runtime {

void LcoreLook::OfSend::take() noexcept {
    counts = sender->counters();
    if (impaired != nullptr)
        port::tell(impaired->counters(), counts);
    stuck = sender->stuck();
}

void LcoreLook::take() noexcept {
    lcore = loop->counters();
    for (OfLane& p : lanes) {
        p.counts = p.lane->counts();
        if (p.lane->tap != nullptr)
            p.tap = p.lane->tap->counters();
        // This lcore has pushed all heaps that are done before.
        if (p.tally != nullptr)
            p.done = p.tally->done();
        p.blocked = p.lane->window.blocked();
        p.waits_for_memory = p.lane->window.has_waited();
        p.stopped = p.lane->chunks ? p.lane->chunks->stopped() : p.lane->window.stopped();
        p.over = p.lane->chunks ? p.lane->chunks->has_left()
                                : p.stopped && p.counts.heaps_live == 0 && !p.lane->window.has_ended();
        std::copy_n(p.lane->stops_seen.begin(), std::min(p.stops.size(), p.lane->stops_seen.size()),
                    p.stops.begin());
        if (depth != Depth::counts)
            p.details.take(*p.lane);
    }
    for (OfSource& s : sources) {
        s.counts = s.source->counters;
        if (depth != Depth::counts) {
            s.details.take(*s.source);
            s.source->counters.fewest_free_mbufs = stats::RxCounters::kNeverLooked;
        }
    }
    for (OfSend& s : sends)
        s.take();
    if (depth != Depth::counts)
        loop->counters().longest_loop = 0;
    if (depth != Depth::full_then_forget)
        return;
    for (const OfLane& p : lanes)
        p.lane->forget_peaks();
    for (const OfSource& s : sources)
        s.source->forget_peaks();
}

}  // namespace spead::runtime
