// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/invocation.hpp"
#include "app/prompt/notifications.hpp"
#include "app/run/run_channels.hpp"
#include "app/run/run_report.hpp"
#include "app/run/run_views.hpp"
#include "app/run/service_status.hpp"
#include "spead/plan_run.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::app {

/// Connects a plan's run with its controllers and observers: signals, the prompt, the service manager, the
/// views. EAL runs; all arguments outlive it. The main thread calls it.
class EngineRun {
  public:
    EngineRun(const RunOptions& options, const CommonOptions& common, door::PlanRun& run,
              RunChannels& channels, RunViews& views)
        : options_(options),
          common_(common),
          run_(run),
          channels_(channels),
          views_(views),
          latest_(views.latest()) {}
    /// Ends the run's engine.
    ~EngineRun() { run_.end(); }
    EngineRun(const EngineRun&) = delete;
    EngineRun& operator=(const EngineRun&) = delete;

    /// Runs from the ports' opening to their end, once. Throws Error when it cannot start.
    RunOutcome go();

  private:
    runtime::EngineHooks hooks();
    stats::RunSettings settings() const;
    void show_silence();
    void start();
    void give_up_privileges() const;
    runtime::EndReason run(std::vector<std::string>& script_problems);
    void tick(const stats::Snapshot& now);
    RunOutcome stop(runtime::EndReason reason, const std::vector<std::string>& script_problems);

    const RunOptions& options_;
    const CommonOptions& common_;
    door::PlanRun& run_;
    RunChannels& channels_;
    RunViews& views_;
    stats::LatestSnapshot& latest_;
    Notifications notifications_;
    ServiceStatus status_;
};

}  // namespace spead::app
