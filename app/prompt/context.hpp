// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/grammar.hpp"
#include "app/prompt/notifications.hpp"
#include "app/prompt/process.hpp"

namespace spead::app {

/// Holds one session: at the process's own terminal, from a file, or attached.
struct PromptSession {
    /// Prints the answer; returns at once when it is no longer read.
    std::function<void(std::string_view)> print;
    /// Waits for so many seconds. Returns false when a key was pressed, or the session has ended. Null where
    /// no key can be pressed.
    std::function<bool(double)> wait;
    /// Waits for so many seconds, in a script too. Returns false when a key was pressed, or the session or
    /// the process ends. Set by run_terminal() and run_script().
    std::function<bool(double)> pause;
    NotificationQueue* notifications = nullptr;  ///< notifications; null: none
    std::string directory;                       ///< relative file names start here; empty: the process's own
    bool attached = false;                       ///< `quit` ends the session, not the process
    bool has_screen = false;                     ///< the terminal can be cleared
    bool over = false;                           ///< set by `quit`
    /// Holds the base of the counts of `show`, after `clear stats`.
    std::optional<stats::Snapshot> cleared;
};

/// Holds the objects that a command's handler uses.
struct Context {
    Process& process;
    const Grammar& grammar;
    PromptSession& session;
};

/// Carries out one line. Returns whether it held a command. Throws UsageError for an invalid command and
/// Error for a failure; then nothing was changed.
bool carry_out(Context& context, std::string_view line);
/// Carries out a command by its words. Throws likewise.
void carry_out(Context& context, const std::vector<std::string>& words);

/// Returns every command of the prompt.
std::vector<PromptCommand> prompt_commands();

/// Adds parts of the table: commands that show, that change, that act, and the session's own.
void add_show_commands(std::vector<PromptCommand>& commands);
void add_change_commands(std::vector<PromptCommand>& commands);
void add_run_commands(std::vector<PromptCommand>& commands);
void add_session_commands(std::vector<PromptCommand>& commands);

}  // namespace spead::app
