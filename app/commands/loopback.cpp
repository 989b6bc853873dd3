// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"
#include "app/commands/table.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// Declares `loopback`: a run that receives its own packets, and is judged by that.
class LoopbackCommand final : public PlanCommand {
    void add_plan_options(CLI::App& app) override { add_loopback_options(app, words_); }
    runtime::Plan make_plan(const DefaultPort&) override {
        options_.loopback = true;
        return loopback_plan(words_);
    }

    StreamWords words_;
};

}  // namespace

namespace commands {

CommandEntry loopback() {
    return {"loopback",
            "Send to itself and check every byte; needs no card and no root",
            {},
            make_command<LoopbackCommand>};
}

}  // namespace commands

}  // namespace spead::app
