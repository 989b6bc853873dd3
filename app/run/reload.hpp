// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/run/run_options.hpp"
#include "runtime/engine.hpp"

namespace spead::app {

/// Answers SIGHUP: changes the process to its configuration file; values that options gave besides the file
/// stay. A file that cannot be carried out changes nothing; the log says why.
void reload(const RunOptions& options, runtime::Engine& engine);

}  // namespace spead::app
