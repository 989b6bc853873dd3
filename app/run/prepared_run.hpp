// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/run/run_options.hpp"
#include "spead/plan_run.hpp"

namespace spead::app {

/// Holds a plan that is laid out and checked, before EAL starts. Nothing is opened yet.
struct PreparedRun {
    /// Lays the plan out. Throws UsageError for a plan that would lose packets of a lossless source, Error
    /// for one that does not fit on this machine.
    PreparedRun(const RunOptions& options, const std::vector<std::string>& eal_args);

    door::EalStart eal;
    door::PlanRun run;  ///< of the options' plan, made to be changed where there is a control socket
};

/// Returns the text of --check, which is a configuration file as a whole.
std::string describe_run(const PreparedRun& prepared, const runtime::Plan& typed);

}  // namespace spead::app
