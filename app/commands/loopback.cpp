// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/run/run_plan.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// `loopback`: a run that receives what it sends, and is judged by that.
class LoopbackCommand final : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_loopback_options(app, words_);
        add_common_options(app, common);
        add_run_options(app, options_);
    }
    void complete(Invocation& invocation, const DefaultPort&) override {
        options_.plan = loopback_plan(words_);
        options_.loopback = true;
        complete_run(options_, invocation.common);
    }
    int run(const Invocation& invocation) override { return run_plan(options_, invocation); }

  private:
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
