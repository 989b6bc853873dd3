// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "app/prompt/context.hpp"
#include "app/prompt/line.hpp"

namespace spead::app {

inline constexpr const char* kPrompt = "dpdk-spead> ";

/// Runs typed commands with line editing, until `quit`, Ctrl-D, the end of the line, or stop. Ctrl-C ends the
/// process when the session is its own, and the typed line when it is attached. Its `wait` is set: any key
/// ends a wait.
void run_terminal(Context& context, Line& line);

/// Holds the result of a script.
struct ScriptResult {
    std::size_t commands = 0;
    std::size_t refused = 0;
    std::string first_refusal;  ///< "FILE:7: the fault"
    int status = 0;             ///< 0, or the exit status of the first refused command
};

/// Runs commands line by line, until `quit`, the end or stop. After a refused command the next ones are still
/// carried out. Each is shown after the prompt when `echo`. The messages of `complain` begin with `name` and
/// the line's number, or with nothing if `name` is empty.
ScriptResult run_script(Context& context, Line& line, const std::string& name, bool echo,
                        const std::function<void(std::string_view)>& complain);

}  // namespace spead::app
