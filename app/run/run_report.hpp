// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/invocation.hpp"
#include "app/run/run_options.hpp"
#include "runtime/end_conditions.hpp"
#include "stats/snapshot.hpp"

namespace spead::app {

/// Holds what is known of a run once its engine has stopped.
struct RunOutcome {
    stats::Snapshot last;
    stats::Snapshot total;  ///< counters may be cleared during the run; whether it was good they all tell
    runtime::Plan ran;      ///< streams come and go during the run: what it was in the end
    std::vector<std::string> problems;
    runtime::EndReason reason{};
};

/// Prints the report, the verdict and the problems, and writes the JSON document. Standard output is the
/// document's when it was asked for there. Returns the exit status of the run; throws Error when the
/// document cannot be written.
int report_run(RunOutcome outcome, const RunOptions& options, const CommonOptions& common);

}  // namespace spead::app
