// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/invocation.hpp"
#include "app/run/shard_choice.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

/// Adds the options of the commands that carry out a plan, besides those of its streams.
namespace spead::app {

/// Holds the values of options, which override the configuration file.
struct RuntimeOptions {
    runtime::RuntimePlan values;
    std::set<std::string, std::less<>> names;  ///< given keys of [runtime]

    /// Writes the given values over the file's.
    void apply_to(runtime::RuntimePlan& plan) const;
    bool operator==(const RuntimeOptions&) const = default;
};

/// Holds the plan and options of recv, send, loopback, capture and run.
struct RunOptions {
    runtime::Plan plan;
    RuntimeOptions given;                        ///< in the plan already, and in each later one
    std::vector<std::string> command_options{};  ///< that the command has: "--port"
    bool interactive = false;                    ///< a prompt at the terminal
    std::string cmdline_file;                    ///< commands for the start; empty: none
    std::string config_path;             ///< source of the plan, to be read again; empty: from options
    std::optional<ShardChoice> shard{};  ///< of the file's plan, also when it is read again; none: all of it
    std::vector<std::string> remarks{};  ///< for the user, about the plan
    bool loopback = false;               ///< all sent packets come back, and the run is judged by that

    /// Returns whether users change keys of a file rather than options.
    bool by_configuration() const noexcept { return !config_path.empty(); }
    /// Returns whether there is to be a control socket: the user requested it, or the command has one by
    /// default.
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

/// Writes the options over the plan, and the log level of either into both.
void complete_run(RunOptions& options, CommonOptions& common);

}  // namespace spead::app
