// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "app/prompt/control_socket.hpp"
#include "app/run/run_options.hpp"
#include "process/reload_signal.hpp"
#include "process/service_notifier.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// The ways in which others reach the process during a run: signals, the control socket, the service manager.
/// Made before EAL starts, so that its threads have the same signals blocked.
struct RunChannels {
    /// Throws Error when a control socket was asked for and cannot be made. One that was not asked for may be
    /// missing: there is no place for it, or a process of that name has it.
    explicit RunChannels(const RunOptions& options);

    process::StopSignals signals;
    process::ReloadSignal hangups;
    std::optional<ControlSocket> socket;
    process::ServiceNotifier service;
};

}  // namespace spead::app
