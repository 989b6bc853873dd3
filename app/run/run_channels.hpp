// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "app/prompt/control_socket.hpp"
#include "app/run/run_options.hpp"
#include "process/reload_signal.hpp"
#include "process/service_notifier.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// Holds the channels of others to the process during a run: signals, the control socket, the service
/// manager. Made before EAL starts, so that its threads have the same signals blocked.
struct RunChannels {
    /// Makes the channels. Throws Error when a requested control socket cannot be made. A control socket by
    /// default may be missing: there is no directory for it, or a process of that name has it.
    explicit RunChannels(const RunOptions& options);

    process::StopSignals signals;
    process::ReloadSignal hangups;
    std::optional<ControlSocket> socket;
    process::ServiceNotifier service;
};

}  // namespace spead::app
