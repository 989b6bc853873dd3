// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "stats/snapshot.hpp"

/// Adds the parts of the report that explain the counts (docs/counters.md).
namespace spead::observe {

/// Returns {"count", "min_s", "mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s", "buckets": [[up to
/// seconds, count]...]}.
nlohmann::ordered_json distribution_json(const stats::Distribution& times);

/// Adds members to the object of a stream of the snapshot: delivered heaps, endpoints one by one, times,
/// high-water marks, health.
void add_stream_details(nlohmann::ordered_json& stream, const stats::StreamSnapshot& s,
                        const stats::Snapshot& snapshot);
/// Adds members to a sender's object: the times when its port took no packets, health.
void add_send_details(nlohmann::ordered_json& send, const stats::SendSnapshot& s, double ticks_per_second);
/// Adds members to a port's object: bursts, buffers, top talkers.
void add_port_details(nlohmann::ordered_json& port, const stats::PortSnapshot& p);
/// Returns the finding as a sentence, with configuration keys if a configuration describes the run.
std::string sentence_of(const stats::Finding& finding, const stats::Snapshot& snapshot);
/// Returns the loss as a sentence, and below it a line for each cure.
std::string lines_of(const stats::Finding& finding, const stats::Snapshot& snapshot);
/// Returns the losses and their causes: [{"cause", "stage", "where", "count", "unit", "what", "cures",
/// "sentence"}...].
nlohmann::ordered_json findings_json(const stats::Snapshot& snapshot);
/// Returns {"index", "count", "endpoints": {"all", "mine"}}.
nlohmann::ordered_json shard_json(const stats::ShardSnapshot& shard);
/// Returns "; shard 0/3: 4 of 12 endpoints of the plan", or an empty text where a plan is whole.
std::string shard_clause(const stats::ShardSnapshot& shard);
/// Adds members to an lcore's object: bursts, use of its time.
void add_lcore_details(nlohmann::ordered_json& lcore, const stats::LcoreSnapshot& l, double ticks_per_second);
nlohmann::ordered_json engine_json(const stats::EngineSnapshot& e);

}  // namespace spead::observe
