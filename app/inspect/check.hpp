// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/inspect/check_ports.hpp"
#include "app/inspect/findings.hpp"
#include "port/driver.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// Makes all checks of `check` for a plan, which may have no ports. A plan that cannot be laid out is a
/// failed finding, and the machine is still checked.
Findings check_all(const port::Machine& machine, const runtime::Plan& plan,
                   const runtime::EalOptions& options, std::span<const port::Driver* const> drivers,
                   const AskPauseFrames& pauses);

/// Holds the plan whose needs `check` examines; it may have no ports.
struct CheckOptions {
    runtime::Plan plan;
    bool json = false;
};

/// Runs `check`: prints the findings, as lines or as JSON. Neither starts EAL nor changes anything. Returns
/// an exit status: 1 when something fails.
int check(const CheckOptions& options, const std::vector<std::string>& eal_words);

}  // namespace spead::app
