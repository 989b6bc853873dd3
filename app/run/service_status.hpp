// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "observe/progress.hpp"
#include "process/service_notifier.hpp"
#include "stats/snapshot.hpp"

namespace spead::app {

/// Makes the service manager's line about a run: rates since the last line, or more urgent news.
class ServiceStatus {
  public:
    /// Returns the line for `now`, which is the same one for kEvery seconds unless an lcore is silent.
    std::string line(const stats::Snapshot& now);

    static constexpr double kEvery = 5;

  private:
    observe::ProgressSample last_;
    std::string text_ = "running";
};

/// Sends the keep-alive, unless an lcore is silent, and the line.
void notify(process::ServiceNotifier& service, ServiceStatus& status, const stats::Snapshot& now);

}  // namespace spead::app
