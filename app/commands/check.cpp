// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/option_set.hpp"
#include "app/run/shard_choice.hpp"
#include "base/error.hpp"
#include "config/config.hpp"

namespace spead::app {

namespace {

/// Makes the plan that `check` examines for named ports: a stream from each.
runtime::Plan plan_of_ports(std::vector<std::string> devices, const DefaultPort& default_port,
                            std::vector<std::string>& remarks) {
    runtime::Plan plan;
    if (devices.empty())
        devices.push_back(default_port.named());
    if (devices.front().empty()) {
        port::LonePort lone = default_port.lone();
        if (!lone.why_not.empty())
            remarks.push_back("no port is named: " + lone.why_not);
        devices.front() = std::move(lone.device);
    }
    std::erase(devices, "");
    for (const std::string& device : devices) {
        const std::size_t i = plan.ports.size();
        plan.ports.push_back({fmt::format("p{}", i), device, 0});
        runtime::ReceivePlan& stream = plan.receives.emplace_back();
        stream.name = fmt::format("s{}", i);
        stream.port = plan.ports.back().name;
        stream.endpoint_texts = {fmt::format("239.255.0.1:{}", 7148 + i)};
        stream.endpoints = parse_endpoints(stream.endpoint_texts.front());
    }
    return plan;
}

/// Declares `check`: examines the machine for a plan's needs.
class CheckCommand final : public CommandWith<CheckOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        add_port_arguments(app, ports_, "As for --port of recv [$DPDK_SPEAD_INTERFACE]");
        OptionSet options(app);
        options.text("--config", config_, "FILE", "Check the needs of this configuration file");
        add_shard_option(app, shard_);
        options.flag("--json", options_.json, "Print JSON on standard output");
    }
    void complete(Invocation& invocation, const DefaultPort& default_port) override {
        if (!config_.empty() && !ports_.empty())
            throw_usage("--config", "it excludes ports, and there are {}; give one or the other",
                        fmt::join(ports_, ", "));
        if (config_.empty() && !shard_.empty())
            throw_usage("--shard", "it deals the plan of a file; give --config FILE, too");
        options_.plan = config_.empty() ? plan_of_ports(ports_, default_port, invocation.remarks)
                                        : config::load_file(config_);
        if (const auto choice =
                config_.empty() ? std::nullopt : choose_shard(shard_, process_environment, host_name()))
            options_.plan = plan_of_choice(options_.plan, *choice, config_, invocation.remarks);
        invocation.common.log_level = options_.plan.runtime.log_level;
    }
    int run(const Invocation& invocation) override { return check(options_, invocation.eal_args); }

  private:
    std::vector<std::string> ports_;
    std::string config_;
    std::string shard_;
};

}  // namespace

namespace commands {

CommandEntry check() {
    return {"check", "Find causes that would slow a run down or make it fail", "[PORT...]",
            make_command<CheckCommand>};
}

}  // namespace commands

}  // namespace spead::app
