// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"
#include "app/commands/table.hpp"
#include "app/option_set.hpp"
#include "base/error.hpp"
#include "config/config.hpp"

namespace spead::app {

namespace {

/// Declares `run`: carries out a configuration file.
class RunCommand final : public PlanCommand {
    void add_plan_options(CLI::App& app) override {
        OptionSet(app).text("--config", options_.config_path, "FILE",
                            "Configuration file; examples are in config/");
        add_shard_option(app, shard_);
    }
    runtime::Plan make_plan(const DefaultPort&) override {
        if (options_.config_path.empty())
            throw_usage("--config", "it is missing: dpdk-spead run --config FILE; examples are in config/");
        runtime::Plan plan = config::load_file(options_.config_path);
        options_.shard = choose_shard(shard_, process_environment, host_name());
        if (!options_.shard)
            return plan;
        return plan_of_choice(plan, *options_.shard, options_.config_path, options_.remarks);
    }

    std::string shard_;
};

}  // namespace

namespace commands {

CommandEntry run() {
    return {"run", "Carry out a configuration file", {}, make_command<RunCommand>};
}

}  // namespace commands

}  // namespace spead::app
