// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_look.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include <fmt/core.h>

namespace spead::app {

namespace {

/// Holds the largest count that a number of the text format has exactly.
constexpr double kMostCount = 9007199254740992.0;

using Wanted = std::function<bool(const MetricSample&)>;

double sum(const MetricSamples& samples, std::string_view name, const Wanted& wanted = {}) {
    double all = 0;
    const auto [first, last] = samples.equal_range(name);
    for (auto at = first; at != last; ++at)
        if ((!wanted || wanted(at->second)) && std::isfinite(at->second.value) && at->second.value > 0)
            all += at->second.value;
    return all;
}

std::uint64_t count(const MetricSamples& samples, std::string_view name, const Wanted& wanted = {}) {
    return static_cast<std::uint64_t>(std::min(sum(samples, name, wanted), kMostCount));
}

/// Adds a fault for each sample of a gauge that is 0: "stream vis is down".
void add_zeros(std::vector<std::string>& faults, const MetricSamples& samples, std::string_view name,
               std::string_view label, std::string_view fault) {
    const auto [first, last] = samples.equal_range(name);
    for (auto at = first; at != last; ++at)
        if (at->second.value == 0)
            faults.push_back(fmt::format("{} {} is {}", label, at->second.label(label), fault));
}

}  // namespace

HostLook look_at(const FleetTarget& target, const MetricSamples& samples) {
    HostLook look;
    look.target = target;
    if (const auto info = samples.find("spead_shard_info"); info != samples.end()) {
        look.plan = info->second.label("plan");
        look.shard = fmt::format("{}/{}", info->second.label("shard"), info->second.label("shards"));
    } else {
        return no_look_at(target, "it serves no metrics of dpdk-spead");
    }
    const auto scope = [](std::string_view wanted) {
        return [wanted](const MetricSample& s) { return s.label("scope") == wanted; };
    };
    look.endpoints = count(samples, "spead_plan_endpoints", scope("mine"));
    look.endpoints_all = count(samples, "spead_plan_endpoints", scope("all"));
    look.bytes_per_second = sum(samples, "spead_stream_bytes_per_second");
    look.packets_per_second = sum(samples, "spead_stream_packets_per_second");
    const auto complete = [](const MetricSample& s) { return s.label("end") == "complete"; };
    look.heaps_complete = count(samples, "spead_stream_heaps_total", complete);
    look.heaps_lost = count(samples, "spead_stream_heaps_total", std::not_fn(complete)) +
                      count(samples, "spead_stream_heaps_dropped_full_total") +
                      count(samples, "spead_stream_heaps_unwritten_total");
    look.missing_packets = count(samples, "spead_stream_missing_packets_total");
    look.run_seconds = sum(samples, "spead_run_duration_seconds");
    add_zeros(look.faults, samples, "spead_port_up", "port", "down");
    add_zeros(look.faults, samples, "spead_lcore_up", "lcore", "silent");
    add_zeros(look.faults, samples, "spead_stream_up", "stream", "not received");
    add_zeros(look.faults, samples, "spead_stream_healthy", "stream", "not healthy");
    const auto [first, last] = samples.equal_range("spead_stream_sink_failed");
    for (auto at = first; at != last; ++at)
        if (at->second.value != 0)
            look.faults.push_back(fmt::format("the sink of {} has failed", at->second.label("stream")));
    return look;
}

HostLook no_look_at(const FleetTarget& target, std::string failure) {
    HostLook look;
    look.target = target;
    look.shard = target.shard;
    look.failure = std::move(failure);
    return look;
}

std::optional<std::uint64_t> lost_between(const HostLook& before, const HostLook& now) {
    if (!before.failure.empty() || !now.failure.empty() || now.heaps_lost < before.heaps_lost ||
        now.run_seconds < before.run_seconds)
        return std::nullopt;
    return now.heaps_lost - before.heaps_lost;
}

}  // namespace spead::app
