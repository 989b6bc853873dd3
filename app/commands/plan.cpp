// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>

#include "app/commands/table.hpp"
#include "app/exit_status.hpp"
#include "app/option_set.hpp"
#include "app/shards/plan_formats.hpp"
#include "base/error.hpp"
#include "base/listen_address.hpp"
#include "base/tell.hpp"
#include "config/config.hpp"
#include "config/names.hpp"
#include "config/shards.hpp"

namespace spead::app {

namespace {

enum class PlanFormat : std::uint8_t { table, json, file_sd, helm, slurm };
constexpr std::array kPlanFormats{
    config::Word{PlanFormat::table, "table"}, config::Word{PlanFormat::json, "json"},
    config::Word{PlanFormat::file_sd, "file_sd"}, config::Word{PlanFormat::helm, "helm"},
    config::Word{PlanFormat::slurm, "slurm"}};

bool is_loopback(Ipv4 address) {
    return address.value >> 24 == kLoopback.value >> 24;
}

/// Returns whether the name of a host means the host that asks.
bool is_this_host(const std::string& host) {
    return host == "localhost" || host.starts_with("127.");
}

struct PlanOptions {
    std::string path;
    std::uint32_t shards = 0;
    PlanFormat format = PlanFormat::table;
    double link_rate = 0;
    std::string hosts;
};

/// Declares `plan`: shows which shard has what, without starting anything.
class ShowPlanCommand final : public CommandWith<PlanOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        app.add_option("FILE", options_.path, "Configuration file")->type_name("");
        OptionSet options(app);
        options.add("--shards", "N", "", "Number of shards, 1 to 4096", [this](const std::string& text) {
            options_.shards = config::parse_shard_count(text, "--shards");
        });
        options.choice("--format", options_.format, kPlanFormats,
                       "Prometheus targets, Helm values or a Slurm script instead of a table");
        options.rate("--link-rate", options_.link_rate,
                     "Rate of every link, as in 100Gbps; 0 = `link_rate` of each [[port]]");
        options.text("--hosts", options_.hosts, "HOSTS",
                     "For file_sd: the shards' hosts with commas, or one name with {} for the number");
    }

    void complete(Invocation&, const DefaultPort&) override {
        if (options_.path.empty())
            throw_usage("plan", "the file is missing: dpdk-spead plan FILE --shards N");
        if (options_.shards == 0)
            throw_usage("--shards", "it is missing; give the number of shards, as in --shards 3");
        if (options_.format == PlanFormat::file_sd && options_.hosts.empty())
            throw_usage("--hosts",
                        "it is missing, and targets are hosts; give --hosts 'recv-{{}}' or a list");
        if (options_.format != PlanFormat::file_sd && !options_.hosts.empty())
            throw_usage("--hosts", "it belongs to --format file_sd; leave it out");
        text_ = config::read_file(options_.path);
        plan_ = config::parse_text(text_, options_.path);
    }

    int run(const Invocation&) override {
        const PlanShares shares = shares_of(plan_, options_.shards, options_.link_rate, options_.path);
        const std::string why = why_too_much(shares);
        const bool for_people = options_.format == PlanFormat::table || options_.format == PlanFormat::json;
        // Nothing is deployed that no card can carry.
        if (why.empty() || for_people)
            tell(stdout, "{}", text_of(shares));
        if (!why.empty())
            throw_usage(options_.path, "{}", why);
        return kSuccess;
    }

  private:
    std::string text_of(const PlanShares& shares) const {
        switch (options_.format) {
            case PlanFormat::json:
                return plan_json(shares);
            case PlanFormat::file_sd: {
                const std::vector<std::string> hosts = hosts_of(options_.hosts, shares.shards.size());
                return plan_file_sd(shares, hosts, metrics_port(std::ranges::all_of(hosts, is_this_host)));
            }
            case PlanFormat::helm:
                return plan_helm(shares, text_, metrics_port(false));
            case PlanFormat::slurm:
                return plan_slurm(shares, std::filesystem::absolute(options_.path).string());
            case PlanFormat::table:
                break;
        }
        return plan_table(shares);
    }

    /// Returns the port of the plan's metrics. `from_here`: only processes on their own host will ask.
    std::uint16_t metrics_port(bool from_here) const {
        const std::optional<ListenAddress>& metrics = plan_.runtime.metrics;
        if (!metrics || metrics->port == 0)
            throw_usage(options_.path,
                        "the plan says no port for `metrics`, and {} ask there; add metrics = "
                        "\"0.0.0.0:9100\" to [runtime]",
                        askers());
        if (is_loopback(metrics->address) && !from_here)
            throw_usage(
                options_.path,
                "`metrics` listens on {}, which other hosts do not reach, and {} ask from there; give "
                "metrics = \"0.0.0.0:{}\" in [runtime]",
                to_string(*metrics), askers(), metrics->port);
        return metrics->port;
    }

    std::string_view askers() const {
        return options_.format == PlanFormat::helm ? "Kubernetes' probes" : "Prometheus and `top --fleet`";
    }

    runtime::Plan plan_;
    std::string text_;
};

}  // namespace

namespace commands {

CommandEntry plan() {
    return {"plan", "Show which shard of a file's plan has which endpoints", "FILE",
            make_command<ShowPlanCommand>};
}

}  // namespace commands

}  // namespace spead::app
