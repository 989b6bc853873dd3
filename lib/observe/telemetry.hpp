// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "observe/telemetry_answers.hpp"

namespace spead::observe {

/// Puts the /spead/ commands into DPDK's telemetry (dpdk-telemetry.py shows them), which calls them on
/// threads of its own, on CPUs that lcores leave.
///
/// DPDK never forgets a command: after the destructor they answer that the run is over. EAL runs. One at a
/// time; the main thread makes and destroys it.
class Telemetry {
  public:
    /// A process without telemetry (--no-telemetry) is none the worse. Throws Error.
    explicit Telemetry(std::shared_ptr<TelemetryAnswers> answers);
    ~Telemetry();
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace spead::observe
