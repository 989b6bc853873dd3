// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"
#include "app/commands/table.hpp"
#include "app/stream_options.hpp"

namespace spead::app {

namespace {

/// Declares `capture`: a run that writes packets to files. It has no prompt and no metrics.
class CaptureCommand final : public PlanCommand {
    void add_plan_options(CLI::App& app) override { add_capture_options(app, words_); }
    void add_options_of_run(CLI::App& app) override {
        add_lcore_timeout(app, options_.given);
        add_runtime_option(app, options_.given, "capabilities");
    }
    runtime::Plan make_plan(const DefaultPort& port) override { return capture_plan(words_, port); }

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
