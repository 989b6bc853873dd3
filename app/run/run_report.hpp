// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/invocation.hpp"
#include "app/run/run_options.hpp"
#include "runtime/end_conditions.hpp"
#include "stats/snapshot.hpp"

namespace spead::app {

/// Holds the data of a run once its engine has stopped.
struct RunOutcome {
    stats::Snapshot last;
    stats::Snapshot total;  ///< counts since the start decide whether the run was good, since counters may be
                            ///< cleared
    runtime::Plan ran;      ///< the final plan, since streams are added and removed during the run
    std::vector<std::string> problems;
    runtime::EndReason reason{};
};

/// Prints the report, the verdict and the problems, and writes the JSON document. If the document goes to
/// standard output, nothing else does. A document that cannot be written is one of the problems. Returns the
/// exit status of the run.
int report_run(RunOutcome outcome, const RunOptions& options, const CommonOptions& common);

}  // namespace spead::app
