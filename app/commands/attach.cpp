// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/attach.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/environment.hpp"

namespace spead::app {

namespace {

/// Declares `attach`: the prompt of another process.
class AttachCommand final : public CommandWith<AttachOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        app.add_option("NAME", options_.target, "Name in [runtime], or path of its socket [the only one]")
            ->type_name("");
    }
    void complete(Invocation& invocation, const DefaultPort&) override { options_.command = invocation.rest; }
    int run(const Invocation&) override { return attach(options_, process_environment); }
};

}  // namespace

namespace commands {

CommandEntry attach() {
    return {"attach", "Open the prompt of a running process", "[NAME] [-- COMMAND...]",
            make_command<AttachCommand>, true};
}

}  // namespace commands

}  // namespace spead::app
