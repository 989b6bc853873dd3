// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/invocation.hpp"
#include "app/prompt/notifications.hpp"
#include "app/run/prepared_run.hpp"
#include "app/run/run_channels.hpp"
#include "app/run/run_report.hpp"
#include "app/run/service_status.hpp"
#include "runtime/engine.hpp"
#include "runtime/executor.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::app {

/// Connects an engine with its controllers and observers: signals, the prompt, the service manager, the
/// board. EAL and all arguments outlive it. The main thread calls it.
class EngineRun {
  public:
    EngineRun(const RunOptions& options, const CommonOptions& common, const PreparedRun& prepared,
              RunChannels& channels, stats::LatestSnapshot& latest)
        : options_(options), common_(common), prepared_(prepared), channels_(channels), latest_(latest) {}

    /// Runs from the ports' opening to their end, once. Throws Error when it cannot start.
    RunOutcome go();

  private:
    runtime::EngineHooks hooks();
    void show_silence();
    void start();
    void give_up_privileges() const;
    runtime::Engine::Reason run(std::vector<std::string>& script_problems);
    void tick(const stats::Snapshot& now);
    RunOutcome stop(runtime::Engine::Reason reason, const std::vector<std::string>& script_problems);

    const RunOptions& options_;
    const CommonOptions& common_;
    const PreparedRun& prepared_;
    RunChannels& channels_;
    stats::LatestSnapshot& latest_;
    runtime::Executor executor_;
    Notifications notifications_;
    ServiceStatus status_;
    std::unique_ptr<runtime::Engine> engine_;
};

}  // namespace spead::app
