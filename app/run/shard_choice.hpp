// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/environment.hpp"
#include "config/shards.hpp"

namespace CLI {
class App;
}

/// Finds out which shard of a plan this process is.
namespace spead::app {

/// Names the variable that holds a shard where --shard does not.
inline constexpr const char* kShardVariable = "DPDK_SPEAD_SHARD";
/// Names the variable that holds the number of shards where the host's name has the index.
inline constexpr const char* kShardsVariable = "DPDK_SPEAD_SHARDS";

/// Holds a shard, and the words for where it was found.
struct ShardChoice {
    config::Shard shard;
    std::string source;  ///< "--shard", "SLURM_PROCID and SLURM_NTASKS"

    bool operator==(const ShardChoice&) const = default;
};

/// Returns the shard of `option` ("I/N" or "auto"), or of DPDK_SPEAD_SHARD when the option is empty; none:
/// the process has the whole plan.
///
/// "auto" takes the first of these: a Slurm array (SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _MAX, _STEP), the tasks
/// of a Slurm step (SLURM_PROCID, SLURM_NTASKS), the number at the end of `host` with DPDK_SPEAD_SHARDS, and
/// DPDK_SPEAD_SHARD. Throws UsageError when these have wrong values, when none is there, and when
/// DPDK_SPEAD_SHARD is there and empty. Pure.
std::optional<ShardChoice> choose_shard(const std::string& option, const Environment& environment,
                                        std::string_view host);

/// Returns this machine's host name; empty: unknown.
std::string host_name();

/// Adds the option --shard, whose text `out` must outlive the parse.
void add_shard_option(CLI::App& app, std::string& out);

/// Returns the plan of the chosen shard of `whole`, and adds a remark about it. Throws UsageError when the
/// plan cannot be dealt; `path` is the file of the plan.
runtime::Plan plan_of_choice(const runtime::Plan& whole, const ShardChoice& choice, const std::string& path,
                             std::vector<std::string>& remarks);

}  // namespace spead::app
