// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stats/snapshot.hpp"

/// The parts of the report that explain the counts (docs/counters.md): names beside those of the design.
namespace spead::observe {

/// {"count", "min_s", "mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s", "buckets": [[up to seconds,
/// count]...]}
nlohmann::ordered_json distribution_json(const stats::Distribution& times);

/// Members of a stream's object: heaps handed over, endpoints one by one, times, high-water marks, health.
void add_stream_details(nlohmann::ordered_json& stream, const stats::StreamSnapshot& s);
/// Members of a sender's: when its port took nothing, health.
void add_send_details(nlohmann::ordered_json& send, const stats::SendSnapshot& s, double ticks_per_second);
/// Members of a port's: bursts, buffers, top talkers.
void add_port_details(nlohmann::ordered_json& port, const stats::PortSnapshot& p);
/// Returns the finding as a sentence, in the words of the configuration where the run is described by one.
std::string sentence_of(const stats::Finding& finding, const stats::Snapshot& snapshot);
/// [{"cause", "stage", "where", "count", "unit", "what", "fix", "sentence"}...]: what was lost and why.
nlohmann::ordered_json findings_json(const stats::Snapshot& snapshot);
/// Members of an lcore's: bursts, how it spent its time.
void add_lcore_details(nlohmann::ordered_json& lcore, const stats::LcoreSnapshot& l, double ticks_per_second);

}  // namespace spead::observe
