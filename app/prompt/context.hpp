// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/prompt/grammar.hpp"
#include "app/prompt/notifications.hpp"
#include "app/prompt/process.hpp"

namespace spead::app {

/// One who types: at the process's own terminal, from a file, or attached.
struct PromptSession {
    /// Where the answer goes; returns at once when nobody reads any more.
    std::function<void(std::string_view)> print;
    /// Waits so many seconds. False: a key was pressed, or nobody is there any more. Null where nobody could
    /// press one.
    std::function<bool(double)> wait;
    /// Waits so many seconds, in a script too. False: a key was pressed, nobody is there any more, or the
    /// process ends. Set by run_terminal() and run_script().
    std::function<bool(double)> pause;
    NotificationQueue* notifications = nullptr;  ///< lines that nobody asked for; null: none
    std::string directory;    ///< relative names of files are from here; empty: the process's own
    bool attached = false;    ///< `quit` leaves the session, not the process
    bool has_screen = false;  ///< a terminal that can be cleared
    bool over = false;        ///< set by `quit`
    /// What `show` counts from, after `clear stats`.
    std::optional<stats::Snapshot> cleared;
};

/// What a command's handler works with.
struct Context {
    Process& process;
    const Grammar& grammar;
    PromptSession& session;
};

/// Carries out one line. Returns whether there was a command in it. Throws UsageError for what cannot be
/// meant and Error for what failed; then nothing was changed.
bool carry_out(Context& context, std::string_view line);

/// Every command of the prompt.
std::vector<PromptCommand> prompt_commands();

/// The parts of the table: what looks, what changes, what is done, and the session's own.
void add_show_commands(std::vector<PromptCommand>& commands);
void add_change_commands(std::vector<PromptCommand>& commands);
void add_run_commands(std::vector<PromptCommand>& commands);
void add_session_commands(std::vector<PromptCommand>& commands);

}  // namespace spead::app
