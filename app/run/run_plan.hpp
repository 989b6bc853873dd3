// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/invocation.hpp"
#include "app/run/run_options.hpp"

namespace spead::app {

/// Carries out a plan until it ends, or prints it for --check: recv, send, loopback, capture and run. Returns
/// an exit status; throws UsageError and Error.
int run_plan(const RunOptions& options, const Invocation& invocation);

}  // namespace spead::app
