// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string_view>

#include "app/default_port.hpp"
#include "app/invocation.hpp"

namespace CLI {
class App;
}

/// Declares the interface of the program's commands, a file of app/commands/ each. A file declares its
/// command's options, completes the typed values, and runs it. It returns its row of the table
/// (app/commands/table.hpp).
namespace spead::app {

/// Represents one command, from its options to its exit status. The methods are called once each, in this
/// order, on one thread. declare() is called for every command, the others for the typed one.
class Command {
  public:
    Command() = default;
    virtual ~Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Adds the options and arguments to `app`, in the order of the help. `common` and this object outlive
    /// the parse, which writes into both.
    virtual void declare(CLI::App& app, CommonOptions& common) = 0;

    /// Checks options against each other and makes the plan, if there is one. It may add remarks, and set the
    /// log level if only the plan has it. Throws UsageError naming the option; Error when a file cannot be
    /// read.
    virtual void complete(Invocation& invocation, const DefaultPort& default_port) = 0;

    /// Carries the command out. Returns an exit status; throws UsageError and Error.
    virtual int run(const Invocation& invocation) = 0;
};

/// Represents a command with options of one type, which its file owns. Tests read them.
template <typename Options>
class CommandWith : public Command {
  public:
    const Options& options() const noexcept { return options_; }

  protected:
    Options options_;
};

template <typename C>
std::unique_ptr<Command> make_command() {
    return std::make_unique<C>();
}

/// Holds a row of the table: the facts about a command before it is made.
struct CommandEntry {
    std::string_view name;         ///< as typed, with its group before it: "recv", "bench link"
    std::string_view description;  ///< for the list of commands
    std::string_view arguments;    ///< for the usage line, after the options; empty: none
    std::unique_ptr<Command> (*make)() = nullptr;
    bool takes_rest = false;  ///< its own `--` comes before words that are not options; then it has no EAL
};

}  // namespace spead::app
