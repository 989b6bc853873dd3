// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/top/top.hpp"
#include "base/listen_address.hpp"

namespace spead::app {

/// Runs `top --fleet`: shows the processes of all targets until `q` or a signal. Starts no EAL. With `once`,
/// it prints one picture, and returns kFailure if a process does not answer or has a fault, or if a part of
/// the plan is missing. With `listen`, it serves the page of the fleet there in place of the screen, until a
/// signal. Returns an exit status; throws UsageError and Error.
int fleet_top(const std::string& targets, const TopOptions& options,
              const std::optional<ListenAddress>& listen);

}  // namespace spead::app
