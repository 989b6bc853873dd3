// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/run/run_plan.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// `capture`: a run whose packets end in files. It has no prompt and no metrics.
class CaptureCommand final : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_capture_options(app, words_);
        add_common_options(app, common);
        add_lcore_timeout(app, options_.given.lcore_timeout);
        add_capabilities_option(app, options_.given.capabilities);
    }
    void complete(Invocation& invocation, const DefaultPort& default_port) override {
        options_.plan = capture_plan(words_, default_port);
        complete_run(options_, invocation.common);
    }
    int run(const Invocation& invocation) override { return run_plan(options_, invocation); }

  private:
    StreamWords words_;
};

}  // namespace

namespace commands {

CommandEntry capture() {
    return {"capture", "Write the packets of streams to pcap files", "ENDPOINT... FILE",
            make_command<CaptureCommand>};
}

}  // namespace commands

}  // namespace spead::app
