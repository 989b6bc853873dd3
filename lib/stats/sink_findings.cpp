// SPDX-License-Identifier: BSD-3-Clause
#include "stats/sink_findings.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include "base/shell_word.hpp"
#include "stats/engine_findings.hpp"
#include "stats/stream_cures.hpp"

namespace spead::stats {

namespace {

Cures another_place(const StreamSnapshot& s, const Advice& advice) {
    return with("give the run another directory: " + other_directory(s, advice),
                with("shards that are further behind than the first one's `window` need a larger one",
                     s.settings.window == 0 ? std::string() : advice.raise(s, kWindow)));
}

/// Returns the finding of what the sink lost for want of one thing, and goes on.
Finding lost_for_want(const StreamSnapshot& s, const SinkLoss& loss, std::string_view unit,
                      const Advice& advice) {
    if (loss.lack == SinkLoss::Lack::engine) {
        const auto& engines = advice.snapshot().engines;
        const auto its = std::ranges::find_if(
            engines, [&s](const auto& e) { return std::ranges::find(e.streams, s.name) != e.streams.end(); });
        return {Cause::engine_stalled,
                Stage::memory,
                s.name,
                loss.count,
                unit,
                fmt::format("were not fetched for the sink: {}", loss.why),
                mend_engine(its == engines.end() ? "" : its->name)};
    }
    const bool place = loss.lack == SinkLoss::Lack::place;
    return {place ? Cause::sink_no_place : Cause::sink_full,
            Stage::consumer,
            s.name,
            loss.count,
            unit,
            fmt::format("were not written: {}", loss.why),
            place ? another_place(s, advice) : roomier_ring(s, advice)};
}

}  // namespace

std::vector<Finding> unwritten_findings(const StreamSnapshot& s, std::uint64_t count, std::string_view unit,
                                        const Advice& advice) {
    std::vector<SinkLoss> losses = s.sink_losses;
    // The largest one first: without a failure, it has what no loss tells, such as those of a former sink.
    std::ranges::sort(losses, std::ranges::greater{}, &SinkLoss::count);
    std::uint64_t rest = count;
    // Each is noted before it counts as not written.
    for (SinkLoss& loss : losses)
        rest -= loss.count = std::min(rest, loss.count);
    if (s.sink_failure.empty() && !losses.empty())
        losses.front().count += std::exchange(rest, 0);
    std::vector<Finding> found;
    for (const SinkLoss& loss : losses)
        if (loss.count != 0)
            found.push_back(lost_for_want(s, loss, unit, advice));
    if (rest == 0)
        return found;
    found.push_back(
        {Cause::sink_failed, Stage::consumer, s.name, rest, unit, "were not written: the sink had failed",
         Cures{s.settings.directory.empty() ? std::string("make room")
                                            : fmt::format("make room: `df -h {}` shows what is left",
                                                          shell_word(s.settings.directory)),
               "then " + advice.begin_anew(s)}});
    return found;
}

}  // namespace spead::stats
