// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/run/run_options.hpp"
#include "memory/huge_turn.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// Holds a laid-out plan before EAL starts. Nothing is opened yet. No other process counts free huge pages
/// until the turn is reset, or this is destroyed.
struct PreparedRun {
    /// Lays the plan out. Throws UsageError for a plan that would lose packets of a lossless source, Error
    /// for one that does not fit on this machine.
    PreparedRun(const RunOptions& options, const std::vector<std::string>& eal_args);

    runtime::EalOptions eal_options;
    runtime::Plan plan;  ///< the options' plan; changeable if there is a control socket
    std::optional<memory::HugePageTurn> turn;
    runtime::Layout layout;
};

/// Returns the text of --check, which is a configuration file as a whole.
std::string describe_run(const PreparedRun& run, const runtime::Plan& typed);

}  // namespace spead::app
