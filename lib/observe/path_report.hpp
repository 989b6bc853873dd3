// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "observe/json.hpp"
#include "observe/table.hpp"
#include "stats/snapshot.hpp"

/// Shows the two paths of streams, by their names in docs/paths.md. A stream with one path shows nothing.
namespace spead::observe {

/// Returns the endpoints in a few words.
std::string endpoints_text(const std::vector<std::string>& endpoints);
/// Returns the counts of each path; an empty list: there is one path.
Json paths_json(const stats::StreamSnapshot& s);
/// Adds a row for each path.
void add_path_rows(Table& table, const stats::StreamSnapshot& s);

}  // namespace spead::observe
