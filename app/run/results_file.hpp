// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::app {

/// Writes the report as JSON to `path`; empty: nothing. A file that cannot be written becomes one of the
/// problems, so that it does not hide the others.
void write_results(const std::string& path, const stats::Snapshot& last, std::vector<std::string>& problems);

}  // namespace spead::app
