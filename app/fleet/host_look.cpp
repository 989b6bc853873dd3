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

/// Gathers faults, and counts those that are too many.
class Faults {
  public:
    explicit Faults(const MetricSamples& samples) : samples_(samples) {}

    /// Adds a fault for each sample of a gauge that has this value: "stream vis is down".
    void add(std::string_view name, double value, std::string_view label, std::string_view fault) {
        const auto [first, last] = samples_.equal_range(name);
        for (auto at = first; at != last; ++at)
            if (at->second.value == value && ++count_ <= kMostFaults)
                faults_.push_back(fmt::format("{} {} {}", label, at->second.label(label), fault));
    }
    std::vector<std::string> take() {
        if (count_ > kMostFaults)
            faults_.push_back(fmt::format("and {} more", count_ - kMostFaults));
        return std::move(faults_);
    }

  private:
    const MetricSamples& samples_;
    std::size_t count_ = 0;
    std::vector<std::string> faults_;
};

}  // namespace

HostLook look_at(const FleetTarget& target, const MetricSamples& samples) {
    HostLook look;
    look.target = target;
    if (const auto info = samples.find("spead_shard_info"); info != samples.end()) {
        look.plan = info->second.label("plan");
        look.shard = fmt::format("{}/{}", info->second.label("shard"), info->second.label("shards"));
    } else {
        return no_look_at(target, samples.contains("spead_build_info")
                                      ? "its run has not begun"
                                      : "it serves no metrics of dpdk-spead");
    }
    const auto scope = [](std::string_view wanted) {
        return [wanted](const MetricSample& s) { return s.label("scope") == wanted; };
    };
    look.endpoints = count(samples, "spead_plan_endpoints", scope("mine"));
    look.endpoints_all = count(samples, "spead_plan_endpoints", scope("all"));
    look.bytes_per_second = sum(samples, "spead_stream_bytes_per_second");
    look.packets_per_second = sum(samples, "spead_stream_packets_per_second");
    look.expected_bytes_per_second = sum(samples, "spead_stream_expected_bytes_per_second");
    const auto complete = [](const MetricSample& s) { return s.label("end") == "complete"; };
    look.heaps_complete = count(samples, "spead_stream_heaps_total", complete);
    look.heaps_lost = count(samples, "spead_stream_heaps_total", std::not_fn(complete)) +
                      count(samples, "spead_stream_heaps_dropped_full_total") +
                      count(samples, "spead_stream_heaps_unwritten_total") +
                      count(samples, "spead_stream_heaps_device_error_total") +
                      count(samples, "spead_stream_chunk_heaps_missing_total") +
                      count(samples, "spead_stream_chunk_heaps_skipped_total") +
                      count(samples, "spead_stream_chunk_heaps_device_error_total");
    look.missing_packets = count(samples, "spead_stream_missing_packets_total");
    look.run_seconds = sum(samples, "spead_run_duration_seconds");
    Faults faults(samples);
    faults.add("spead_port_up", 0, "port", "is down");
    faults.add("spead_lcore_up", 0, "lcore", "is silent");
    faults.add("spead_engine_up", 0, "engine", "stands still");
    faults.add("spead_stream_up", 0, "stream", "is not received");
    faults.add("spead_stream_healthy", 0, "stream", "is not healthy");
    faults.add("spead_stream_sink_failed", 1, "stream", "has a sink that failed");
    look.faults = faults.take();
    return look;
}

HostLook no_look_at(const FleetTarget& target, std::string failure) {
    HostLook look;
    look.target = target;
    look.shard = target.shard;
    look.failure = std::move(failure);
    return look;
}

std::optional<std::uint64_t> lost_between(const HostLook* before, const HostLook& now) {
    if (before == nullptr || !before->failure.empty() || !now.failure.empty() ||
        now.heaps_lost < before->heaps_lost || now.run_seconds < before->run_seconds)
        return std::nullopt;
    return now.heaps_lost - before->heaps_lost;
}

}  // namespace spead::app
