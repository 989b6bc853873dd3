// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/shard_choice.hpp"

#include <array>
#include <unistd.h>

#include <fmt/core.h>

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

constexpr std::string_view kAuto = "auto";

/// Reads variables of the environment; empty ones count as unset.
class Variables {
  public:
    explicit Variables(const Environment& environment) : environment_(environment) {}

    std::optional<std::string> text(const char* name) const {
        const char* const value = environment_ ? environment_(name) : nullptr;
        return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
    }
    /// Returns whether the variable is there without a value.
    bool is_empty(const char* name) const {
        const char* const value = environment_ ? environment_(name) : nullptr;
        return value != nullptr && *value == '\0';
    }
    std::optional<std::int64_t> number(const char* name) const {
        const std::optional<std::string> value = text(name);
        return value ? std::optional(parse_integer(*value, 0, UINT32_MAX, name)) : std::nullopt;
    }
    /// Returns a number that the other variables need.
    std::int64_t needed(const char* name, std::string_view beside) const {
        const std::optional<std::int64_t> value = number(name);
        if (!value)
            throw_usage(name, "it is not set, and {} is; give --shard I/N", beside);
        return *value;
    }

  private:
    const Environment& environment_;
};

config::Shard shard_from(std::int64_t index, std::int64_t count, const std::string& source) {
    return config::parse_shard(fmt::format("{}/{}", index, count), source);
}

/// Finds the place of this task in an array, whose indices may begin anywhere and have a step.
std::optional<ShardChoice> of_slurm_array(const Variables& variables) {
    const std::optional<std::int64_t> id = variables.number("SLURM_ARRAY_TASK_ID");
    if (!id)
        return std::nullopt;
    const std::string source = "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT";
    const std::int64_t count = variables.needed("SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_ID");
    const std::int64_t first = variables.number("SLURM_ARRAY_TASK_MIN").value_or(0);
    const std::int64_t step =
        std::max<std::int64_t>(1, variables.number("SLURM_ARRAY_TASK_STEP").value_or(1));
    const std::int64_t last = variables.number("SLURM_ARRAY_TASK_MAX").value_or(first + (count - 1) * step);
    if (*id < first || (*id - first) % step != 0 || last - first != (count - 1) * step)
        throw_usage(source,
                    "the {} indices from {} to {} of this array, with {} among them, are not evenly spaced; "
                    "give --array=0-{}, or --shard I/N",
                    count, first, last, *id, count == 0 ? 0 : count - 1);
    return ShardChoice{shard_from((*id - first) / step, count, source), source};
}

std::optional<ShardChoice> of_slurm_step(const Variables& variables) {
    const std::optional<std::int64_t> rank = variables.number("SLURM_PROCID");
    if (!rank)
        return std::nullopt;
    const std::string source = "SLURM_PROCID and SLURM_NTASKS";
    return ShardChoice{shard_from(*rank, variables.needed("SLURM_NTASKS", "SLURM_PROCID"), source), source};
}

/// Finds the ordinal of a StatefulSet's pod at the end of its host name: "recv-2" or "recv-2.recv.svc".
std::optional<ShardChoice> of_host(const Variables& variables, std::string_view host) {
    const std::optional<std::int64_t> count = variables.number(kShardsVariable);
    const std::string_view name = host.substr(0, host.find('.'));
    const std::size_t dash = name.rfind('-');
    if (!count || dash == name.npos)
        return std::nullopt;
    const std::string_view ordinal = name.substr(dash + 1);
    if (ordinal.empty() || ordinal.find_first_not_of("0123456789") != ordinal.npos)
        return std::nullopt;
    const std::string source = fmt::format("the host name {} and {}", host, kShardsVariable);
    return ShardChoice{shard_from(parse_integer(ordinal, 0, UINT32_MAX, source), *count, source), source};
}

std::optional<ShardChoice> of_variable(const Variables& variables) {
    const std::optional<std::string> text = variables.text(kShardVariable);
    if (!text || *text == kAuto)
        return std::nullopt;
    return ShardChoice{config::parse_shard(*text, kShardVariable), kShardVariable};
}

}  // namespace

std::optional<ShardChoice> choose_shard(const std::string& option, const Environment& environment,
                                        std::string_view host) {
    const Variables variables(environment);
    if (!option.empty() && option != kAuto)
        return ShardChoice{config::parse_shard(option, "--shard"), "--shard"};
    // The whole plan would take the endpoints of the other hosts.
    if (option.empty() && variables.is_empty(kShardVariable))
        throw_usage(kShardVariable, "it is empty; give I/N or auto, or unset it to receive the whole plan");
    if (option.empty() && variables.text(kShardVariable) != std::string(kAuto))
        return of_variable(variables);
    if (auto choice = of_slurm_array(variables))
        return choice;
    if (auto choice = of_slurm_step(variables))
        return choice;
    if (auto choice = of_host(variables, host))
        return choice;
    if (auto choice = of_variable(variables))
        return choice;
    throw_usage(
        option.empty() ? kShardVariable : "--shard",
        "`auto` finds no shard: SLURM_ARRAY_TASK_ID, SLURM_PROCID and {} name none, and there is no {} "
        "together with a number at the end of the host name `{}`; give I/N",
        kShardVariable, kShardsVariable, host);
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void add_shard_option(CLI::App& app, std::string& out) {
    OptionSet(app).text("--shard", out, "I/N|auto",
                        "Take this shard of the plan; auto = as Slurm or the host says [$DPDK_SPEAD_SHARD]");
}

runtime::Plan plan_of_choice(const runtime::Plan& whole, const ShardChoice& choice, const std::string& path,
                             std::vector<std::string>& remarks) {
    runtime::Plan mine = config::plan_of_shard(whole, choice.shard, [&](std::string_view) { return path; });
    remarks.push_back(fmt::format("{} (from {})", config::describe_shard(mine, whole), choice.source));
    if (!mine.sends.empty() && choice.shard.count > 1)
        remarks.push_back(fmt::format(
            "senders are not dealt: each of the {} shards sends to all their endpoints", choice.shard.count));
    return mine;
}

}  // namespace spead::app
