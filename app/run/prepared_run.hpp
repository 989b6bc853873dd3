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

/// A plan that is laid out, before EAL starts. Nothing is opened yet; nobody else counts free huge pages
/// until the turn is reset, or this is destroyed.
struct PreparedRun {
    /// Throws UsageError for a plan that would lose packets of a lossless source, Error for one that has no
    /// room here.
    PreparedRun(const RunOptions& options, const std::vector<std::string>& eal_args);

    runtime::EalOptions eal_options;
    runtime::Plan plan;  ///< the options' one, made to be changed where there is a control socket
    std::optional<memory::HugePageTurn> turn;
    runtime::Layout layout;
};

/// Returns what --check prints, which is a configuration file as a whole.
std::string describe_run(const PreparedRun& run, const runtime::Plan& typed);

}  // namespace spead::app
