// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "observe/telemetry_answers.hpp"

namespace spead::observe {

/// Registers the /spead/ commands with DPDK's telemetry (dpdk-telemetry.py shows them). DPDK calls them on
/// threads of its own, on CPUs that lcores do not use.
///
/// DPDK cannot remove a command: after the destructor they answer that the run is over. EAL runs. One at a
/// time; the main thread makes and destroys it.
class Telemetry {
  public:
    /// Registers the commands. Does nothing in a process without telemetry (--no-telemetry). Throws Error.
    explicit Telemetry(std::shared_ptr<TelemetryAnswers> answers);
    ~Telemetry();
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace spead::observe
