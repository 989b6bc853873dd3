// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_look.hpp"

#include <algorithm>

namespace spead::runtime {

void LcoreLook::take() noexcept {
    lcore = loop->counters();
    for (OfPart& p : parts) {
        p.counts = p.lane->counters;
        if (p.lane->tap != nullptr)
            p.tap = p.lane->tap->counters();
        // What is done was pushed by this lcore before.
        if (p.feed != nullptr)
            p.done = p.feed->done();
        p.blocked = p.lane->window.blocked();
        p.stopped = p.lane->window.stopped();
        std::copy_n(p.lane->stops_seen.begin(), std::min(p.stops.size(), p.lane->stops_seen.size()),
                    p.stops.begin());
        if (depth != Depth::counts)
            p.details.take(*p.lane);
    }
    for (OfSource& s : sources) {
        s.counts = s.source->counters;
        if (depth != Depth::counts)
            s.details.take(*s.source);
    }
    for (OfSend& s : sends)
        s.counts = s.sender->counters();
    if (depth != Depth::full_then_forget)
        return;
    for (const OfPart& p : parts)
        p.lane->forget_peaks();
    for (const OfSource& s : sources)
        s.source->forget_peaks();
    loop->counters().longest_loop = 0;
}

}  // namespace spead::runtime
