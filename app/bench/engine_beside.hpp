// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>

#include "spead/plan_run.hpp"

namespace spead::app {

/// Ends the work beside an engine.
struct BesideEnd {
    const std::atomic<bool>& cancelled;  ///< read in every loop
    int fd;                              ///< readable at the end, for waits
};

/// Runs the started engine on this thread while `work` runs in another. It ends when `work` returns, a signal
/// comes, or the engine ends; then `work` is asked to end, and waited for. Does not stop the engine. Returns
/// true after a signal. Rethrows the exceptions of `work`, except Interrupted.
bool run_beside(door::PlanRun& run, int signal_fd, const std::function<void(const BesideEnd&)>& work);

}  // namespace spead::app
