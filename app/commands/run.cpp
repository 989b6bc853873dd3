// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/option_set.hpp"
#include "app/run/run_plan.hpp"
#include "base/error.hpp"
#include "config/config.hpp"

namespace spead::app {

namespace {

/// `run`: what a configuration file says.
class RunCommand final : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        OptionSet(app).text("--config", options_.config_path, "FILE", "The file; examples are in config/");
        add_common_options(app, common);
        add_run_options(app, options_);
    }
    void complete(Invocation& invocation, const DefaultPort&) override {
        if (options_.config_path.empty())
            throw_usage("--config", "it is missing: dpdk-spead run --config FILE; examples are in config/");
        options_.plan = config::load_file(options_.config_path);
        complete_run(options_, invocation.common);
    }
    int run(const Invocation& invocation) override { return run_plan(options_, invocation); }
};

}  // namespace

namespace commands {

CommandEntry run() {
    return {"run", "Do what a configuration file says", {}, make_command<RunCommand>};
}

}  // namespace commands

}  // namespace spead::app
