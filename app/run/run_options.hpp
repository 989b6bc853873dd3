// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/invocation.hpp"
#include "base/listen_address.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

/// The options of the commands that carry out a plan, besides those of its streams.
namespace spead::app {

/// Holds the values that options give besides the configuration file, and before it.
struct RuntimeOptions {
    std::string control;  ///< empty: nothing
    std::optional<ListenAddress> metrics;
    std::optional<runtime::KeptCapabilities> capabilities;
    std::optional<double> lcore_timeout;

    /// Writes what was given over what the file says.
    void apply_to(runtime::RuntimePlan& plan) const;
    bool operator==(const RuntimeOptions&) const = default;
};

/// Holds what recv, send, loopback, capture and run carry out.
struct RunOptions {
    runtime::Plan plan;
    RuntimeOptions given;      ///< in the plan already, and in each one that is read later
    bool interactive = false;  ///< a prompt at the terminal
    std::string cmdline_file;  ///< commands to carry out at the start; empty: none
    std::string config_path;   ///< where the plan comes from, to be read again; empty: from options
    bool loopback = false;     ///< all that is sent comes back, and the run is judged by that

    /// Whether users change keys of a file rather than options.
    bool by_configuration() const noexcept { return !config_path.empty(); }
    /// Whether there is to be a control socket: it was asked for, or the command has one if it can.
    bool wants_control() const noexcept;
};

/// Add options of a run. What they write into must outlive the parse.
void add_lcore_timeout(CLI::App& app, std::optional<double>& lcore_timeout);
void add_capabilities_option(CLI::App& app, std::optional<runtime::KeptCapabilities>& capabilities);

/// Adds all of them: those two, --metrics, and those of the prompt.
void add_run_options(CLI::App& app, RunOptions& options);

/// Writes the options over the plan, and the log level of the one or the other into both.
void complete_run(RunOptions& options, CommonOptions& common);

}  // namespace spead::app
