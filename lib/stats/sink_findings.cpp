// SPDX-License-Identifier: BSD-3-Clause
#include "stats/sink_findings.hpp"

#include <fmt/core.h>

#include "base/shell_word.hpp"
#include "stats/stream_cures.hpp"

namespace spead::stats {

namespace {

Cures another_place(const StreamSnapshot& s, const Advice& advice) {
    return with("give the run another directory: " + other_directory(s, advice),
                with("shards that are further behind than the first one's `window` need a larger one",
                     s.settings.window == 0 ? std::string() : advice.raise(s, kWindow)));
}

}  // namespace

std::optional<Finding> unwritten_finding(const StreamSnapshot& s, std::uint64_t count, std::string_view unit,
                                         const Advice& advice) {
    if (count == 0)
        return std::nullopt;
    if (s.sink_failure.empty() && !s.sink_loss.empty())
        return Finding{s.sink_lacks_place ? Cause::sink_no_place : Cause::sink_full,
                       Stage::consumer,
                       s.name,
                       count,
                       unit,
                       fmt::format("were not written: {}", s.sink_loss),
                       s.sink_lacks_place ? another_place(s, advice) : roomier_ring(s, advice)};
    return Finding{
        Cause::sink_failed,
        Stage::consumer,
        s.name,
        count,
        unit,
        "were not written: the sink had failed",
        Cures{s.settings.directory.empty()
                  ? std::string("make room")
                  : fmt::format("make room: `df -h {}` shows what is left", shell_word(s.settings.directory)),
              "then " + advice.begin_anew(s)}};
}

}  // namespace spead::stats
