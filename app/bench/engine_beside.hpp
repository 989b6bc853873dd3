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

/// Runs `run`, whose engine is started and not stopped, on this thread while `work` runs in another: until
/// that returns, or a signal comes, or the engine ends; then `work` is told to end, and waited for. Returns
/// true when it was a signal. What `work` throws is thrown on, except Interrupted.
bool run_beside(door::PlanRun& run, int signal_fd, const std::function<void(const BesideEnd&)>& work);

}  // namespace spead::app
