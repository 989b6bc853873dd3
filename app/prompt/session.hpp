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

/// Commands typed with line editing, until `quit`, Ctrl-D, the end of the line, or stop. Ctrl-C ends the
/// process when the session is its own, and the line being typed when it is attached. `session.wait` is set:
/// any key ends what waits.
void run_terminal(Context& context, Line& line);

/// What became of commands that nobody edits.
struct ScriptResult {
    std::size_t commands = 0;
    std::size_t refused = 0;
    std::string first_refusal;  ///< "FILE:7: what was wrong"
    int status = 0;             ///< 0, or as the program's exit status for the first that was refused
};

/// Commands line by line, until `quit`, the end or stop; one that is refused does not keep the next ones from
/// being carried out. Each is shown after the prompt when `echo`. `name` stands before the line's number in
/// what `complain` gets, or nothing if it is empty.
ScriptResult run_script(Context& context, Line& line, const std::string& name, bool echo,
                        const std::function<void(std::string_view)>& complain);

}  // namespace spead::app
