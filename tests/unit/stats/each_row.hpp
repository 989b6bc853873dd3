// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/consumer_cure_rows.hpp"
#include "tests/unit/stats/cure_rows.hpp"
#include "tests/unit/stats/format_cause_rows.hpp"
#include "tests/unit/stats/near_loss_cause_rows.hpp"
#include "tests/unit/stats/nothing_came_cause_rows.hpp"
#include "tests/unit/stats/option_cure_rows.hpp"
#include "tests/unit/stats/path_cure_rows.hpp"
#include "tests/unit/stats/port_cause_rows.hpp"
#include "tests/unit/stats/program_cure_rows.hpp"
#include "tests/unit/stats/queue_cure_rows.hpp"
#include "tests/unit/stats/stream_cause_rows.hpp"

namespace spead::stats::test {

/// Calls `f` with each snapshot that the rows of causes and cures make, and the row's name.
template <class F>
void each_snapshot(F&& f) {
    const auto visit = [&f](const auto& rows) {
        for (const auto& row : rows) {
            Snapshot s = known();
            row.change(s);
            f(row.name, s);
        }
    };
    visit(kCureRows);
    visit(kQueueCureRows);
    visit(kConsumerCureRows);
    visit(kOptionCureRows);
    visit(kPathCureRows);
    visit(kProgramCureRows);
    visit(kPortCauseRows);
    visit(kStreamCauseRows);
    visit(kNothingCameCauseRows);
    visit(kFormatCauseRows);
    visit(kNearLossCauseRows);
}

/// Returns the options that the text names. Those of other programs' commands are not among them.
inline std::vector<std::string> options_in(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '`' && text.compare(at + 1, 2, "--") != 0) {
            const std::size_t end = text.find('`', at + 1);
            at = end == text.npos ? text.size() : end + 1;
            continue;
        }
        if (text.compare(at, 2, "--") != 0) {
            at++;
            continue;
        }
        const std::size_t end =
            std::min(text.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", at), text.size());
        all.push_back(text.substr(at, end - at));
        at = end;
    }
    return all;
}

}  // namespace spead::stats::test
