// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"
#include "app/commands/table.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// Declares `send`: a run with one sender.
class SendCommand final : public PlanCommand {
    void add_plan_options(CLI::App& app) override { add_send_options(app, words_); }
    runtime::Plan make_plan(const DefaultPort& port) override { return send_plan(words_, port); }

    StreamWords words_;
};

}  // namespace

namespace commands {

CommandEntry send() {
    return {"send", "Send generated heaps", "ENDPOINT...", make_command<SendCommand>};
}

}  // namespace commands

}  // namespace spead::app
