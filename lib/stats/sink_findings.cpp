// SPDX-License-Identifier: BSD-3-Clause
#include "stats/sink_findings.hpp"

#include <fmt/core.h>

#include "base/shell_word.hpp"

namespace spead::stats {

std::optional<Finding> unwritten_finding(const StreamSnapshot& s, std::uint64_t count,
                                         std::string_view unit) {
    if (count == 0)
        return std::nullopt;
    if (s.sink_failure.empty() && !s.sink_loss.empty())
        return Finding{s.sink_lacks_place ? Cause::sink_no_place : Cause::sink_full,
                       Stage::consumer,
                       s.name,
                       count,
                       unit,
                       fmt::format("were not written: {}", s.sink_loss),
                       s.sink_lacks_place
                           ? Cures{"give the run another directory",
                                   "shards that are further behind than "
                                   "the first one's `window` need a larger one"}
                           : Cures{"let the readers keep up", "make the ring with more blocks (dada_db -n)"}};
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
              fmt::format("then enter `stream stop {0}` and `stream start {0}` at the prompt, or restart",
                          s.name)}};
}

}  // namespace spead::stats
