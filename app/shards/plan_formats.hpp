// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/shards/shard_shares.hpp"
#include "base/listen_address.hpp"

/// Writes the shards of a plan for people and for the software that runs them. Pure.
namespace spead::app {

/// Returns the table of shards, and lines about what is unknown.
std::string plan_table(const PlanShares& shares);

/// Returns the shards as a JSON document. Rates are bytes per second; null: unknown.
std::string plan_json(const PlanShares& shares);

/// Returns the hosts of `count` shards: a list with commas, or one name with `{}` for the shard's number.
/// Throws UsageError for a wrong number of them, an empty one, or one with signs that no host name has.
std::vector<std::string> hosts_of(std::string_view text, std::size_t count);

/// Returns targets for Prometheus (`file_sd_configs`). Their labels are `spead_plan`, `spead_shard` and
/// `spead_shards`, so that a host that does not answer is still known by its shard.
std::string plan_file_sd(const PlanShares& shares, const std::vector<std::string>& hosts, std::uint16_t port);

/// Returns values for config/deploy/helm/dpdk-spead, which makes one Deployment for each shard, with the
/// plan's file in them.
std::string plan_helm(const PlanShares& shares, const std::string& file_text, std::uint16_t metrics_port);

/// Returns a Slurm array job: one element per shard. Each runs the shard of the file at `path`, and starts it
/// again when it ends by a failure.
std::string plan_slurm(const PlanShares& shares, const std::string& path);

}  // namespace spead::app
