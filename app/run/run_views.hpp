// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "observe/metrics.hpp"
#include "observe/telemetry.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::app {

/// Shows a run to other programs: telemetry, and metrics if the plan has them. Their threads read the latest
/// snapshot for as long as they like, never the engine. EAL runs and outlives it.
class RunViews {
  public:
    /// Starts the views. Throws Error when metrics cannot be served there.
    RunViews(const runtime::Plan& plan, const runtime::Layout& layout);

    stats::LatestSnapshot& latest() noexcept { return *latest_; }

  private:
    const std::shared_ptr<stats::LatestSnapshot> latest_;
    const observe::Telemetry telemetry_;
    std::optional<observe::Metrics> metrics_;
};

}  // namespace spead::app
