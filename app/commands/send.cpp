// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/run/run_plan.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// `send`: a run with one sender.
class SendCommand final : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_send_options(app, words_);
        add_common_options(app, common);
        add_run_options(app, options_);
    }
    void complete(Invocation& invocation, const DefaultPort& default_port) override {
        options_.plan = send_plan(words_, default_port);
        complete_run(options_, invocation.common);
    }
    int run(const Invocation& invocation) override { return run_plan(options_, invocation); }

  private:
    StreamWords words_;
};

}  // namespace

namespace commands {

CommandEntry send() {
    return {"send", "Send generated heaps", "ENDPOINT...", make_command<SendCommand>};
}

}  // namespace commands

}  // namespace spead::app
