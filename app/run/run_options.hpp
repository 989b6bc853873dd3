// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "app/invocation.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

/// The options of the commands that carry out a plan, besides those of its streams.
namespace spead::app {

/// Holds the values that options give besides the configuration file, and before it.
struct RuntimeOptions {
    runtime::RuntimePlan values;
    std::set<std::string, std::less<>> names;  ///< keys of [runtime] that were given

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

/// Adds the option of the key `name` of [runtime], which has one. The help shows `default_text`, or the key's
/// default if that is empty. `given` must outlive the parse.
void add_runtime_option(CLI::App& app, RuntimeOptions& given, std::string_view name,
                        const std::string& default_text = {});

/// Adds --lcore-timeout in the same way.
void add_lcore_timeout(CLI::App& app, RuntimeOptions& given);

/// Adds all options of a run: --lcore-timeout, --metrics, --capabilities, and those of the prompt. `options`
/// must outlive the parse.
void add_run_options(CLI::App& app, RunOptions& options);

/// Writes the options over the plan, and the log level of the one or the other into both.
void complete_run(RunOptions& options, CommonOptions& common);

}  // namespace spead::app
