// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/commands/command.hpp"
#include "app/environment.hpp"
#include "app/invocation.hpp"
#include "port/candidates.hpp"

/// Converts the words of a user, `dpdk-spead [EAL options] -- COMMAND [options]`, to a command that can run.
/// It knows the common options of all commands; the rest is in the table of commands
/// (app/commands/table.hpp).
///
/// Pure but for `--config FILE`, which reads the file: no EAL, no output, no exit.
namespace spead::app {

struct CommandLine {
    std::string_view name;             ///< of the command, as in the table; empty: none
    std::unique_ptr<Command> command;  ///< complete; null: `text` is to be printed
    Invocation invocation;
    std::string text;  ///< of --help and --version, for standard output
};

/// Names an interface for recv and send when --port is not given.
inline constexpr const char* kInterfaceVariable = "DPDK_SPEAD_INTERFACE";

/// Finds the only possible port when none is named: port::lone_port() of this machine, or a test's.
using FindLonePort = std::function<port::LonePort()>;

/// Parses the command line. Throws UsageError (status 2) that names the option, quotes the text and says what
/// may be typed; Error (status 1) when the configuration file cannot be read. Calls `lone_port` only when
/// recv or send have no port from any other source; null: there is none.
CommandLine parse_command_line(int argc, const char* const* argv, const Environment& environment,
                               const FindLonePort& lone_port = {});

}  // namespace spead::app
