// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "app/api/api.hpp"
#include "observe/event_log.hpp"
#include "observe/metrics.hpp"
#include "observe/telemetry.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::app {

/// Shows a run to other programs: telemetry, and metrics and the API if the plan has them. Their threads read
/// the latest snapshot for as long as they like. Only the API asks the engine, through an attached Process.
/// EAL runs and outlives it.
class RunViews {
  public:
    /// Starts the views. Throws Error when metrics cannot be served there.
    RunViews(const runtime::Plan& plan, const runtime::Layout& layout);

    stats::LatestSnapshot& latest() noexcept { return *latest_; }
    observe::EventLog& events() noexcept { return *events_; }
    /// Returns the API; null: the plan has none.
    Api* api() noexcept { return api_ ? &*api_ : nullptr; }

  private:
    const std::shared_ptr<stats::LatestSnapshot> latest_;
    const observe::Telemetry telemetry_;
    const std::shared_ptr<observe::EventLog> events_;
    std::optional<Api> api_;
    std::optional<observe::Metrics> metrics_;  ///< asks the API, and ends before it
};

}  // namespace spead::app
