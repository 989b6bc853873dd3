// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/run/run_plan.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// `recv`: a run with streams.
class RecvCommand final : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_recv_options(app, words_);
        add_common_options(app, common);
        add_run_options(app, options_);
    }
    void complete(Invocation& invocation, const DefaultPort& default_port) override {
        options_.plan = recv_plan(words_, default_port);
        complete_run(options_, invocation.common);
    }
    int run(const Invocation& invocation) override { return run_plan(options_, invocation); }

  private:
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
