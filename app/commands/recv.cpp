// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"
#include "app/commands/table.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// Declares `recv`: a run with streams.
class RecvCommand final : public PlanCommand {
    void add_plan_options(CLI::App& app) override { add_recv_options(app, words_); }
    runtime::Plan make_plan(const DefaultPort& port) override { return recv_plan(words_, port); }

    StreamWords words_;
};

}  // namespace

namespace commands {

CommandEntry recv() {
    return {"recv", "Receive streams and give their heaps to a sink", "ENDPOINT...",
            make_command<RecvCommand>};
}

}  // namespace commands

}  // namespace spead::app
