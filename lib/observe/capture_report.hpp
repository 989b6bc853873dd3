// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "observe/table.hpp"
#include "stats/snapshot.hpp"

/// Makes the report's part on captures and replays. Names: docs/counters.md.
namespace spead::observe {

/// Returns the state. "running"; "over": it takes no more packets, and waits to be stopped; "ending": it was
/// stopped, and buffered data is still being written; "ended".
std::string_view state_of(const stats::CaptureSnapshot& capture);

nlohmann::ordered_json capture_json(const stats::CaptureSnapshot& capture);

nlohmann::ordered_json replay_json(const stats::ReplaySnapshot& replay);
/// Returns the counts of impaired packets; `how` as in --impair.
nlohmann::ordered_json impaired_json(const std::string& how, const stats::SendCounters& counters);
void add_impaired(Table& table, const std::string& how, const stats::SendCounters& counters);

/// Returns a table with a row for each replay; empty without any.
std::string replays_table(const stats::Snapshot& snapshot);

/// Returns a table with a row for each capture, with its rate over all of its time, and one of their files;
/// empty without captures.
std::string captures_table(const stats::Snapshot& snapshot);

/// Returns advice on packets that a capture did not keep.
std::vector<std::string> capture_advice(const stats::Snapshot& snapshot);

}  // namespace spead::observe
