// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/fleet/exposition.hpp"
#include "app/fleet/host_findings.hpp"
#include "app/fleet/targets.hpp"

/// Finds in the metrics of a process what `top --fleet` shows of it. Pure.
namespace spead::app {

/// Holds one look at one process.
struct HostLook {
    FleetTarget target;
    std::string failure;  ///< why it did not answer; empty: it did, and the rest is valid

    std::string plan;
    std::string shard;                ///< "0/3"; of one that does not answer, by the file of targets
    std::uint64_t endpoints = 0;      ///< that one shard each receives: of this process
    std::uint64_t endpoints_all = 0;  ///< of the plan
    double bytes_per_second = 0;      ///< received in about the last second
    double packets_per_second = 0;
    double expected_bytes_per_second = 0;  ///< of the streams that say it
    std::uint64_t heaps_complete = 0;
    std::uint64_t heaps_lost = 0;  ///< ended incomplete, found a full queue, or were not written
    std::uint64_t missing_packets = 0;
    double run_seconds = 0;             ///< since the start
    std::vector<std::string> faults{};  ///< "stream vis is down", "lcore 2 is silent"
    /// Holds what the process itself finds wrong now. It is asked from the second look on.
    std::vector<HostFinding> findings{};
};

/// Names the metrics that look_at() reads.
inline constexpr std::array<std::string_view, 21> kShownMetrics{"spead_shard_info",
                                                                "spead_build_info",
                                                                "spead_plan_endpoints",
                                                                "spead_stream_bytes_per_second",
                                                                "spead_stream_packets_per_second",
                                                                "spead_stream_expected_bytes_per_second",
                                                                "spead_stream_heaps_total",
                                                                "spead_stream_heaps_dropped_full_total",
                                                                "spead_stream_heaps_unwritten_total",
                                                                "spead_stream_heaps_device_error_total",
                                                                "spead_stream_chunk_heaps_missing_total",
                                                                "spead_stream_chunk_heaps_skipped_total",
                                                                "spead_stream_chunk_heaps_device_error_total",
                                                                "spead_stream_missing_packets_total",
                                                                "spead_run_duration_seconds",
                                                                "spead_port_up",
                                                                "spead_lcore_up",
                                                                "spead_engine_up",
                                                                "spead_stream_up",
                                                                "spead_stream_healthy",
                                                                "spead_stream_sink_failed"};
/// Limits the faults that are kept of a process; one more counts the rest.
inline constexpr std::size_t kMostFaults = 8;

/// Returns the look at a process that answered with `samples`.
HostLook look_at(const FleetTarget& target, const MetricSamples& samples);

/// Returns the look at a process that did not.
HostLook no_look_at(const FleetTarget& target, std::string failure);

/// Returns how many heaps were lost between two looks at a process; none if it was started in between, or if
/// there was no look `before` (null).
std::optional<std::uint64_t> lost_between(const HostLook* before, const HostLook& now);

/// Returns the look before at process `i`; null if there was none.
inline const HostLook* look_before(const std::vector<HostLook>& before, std::size_t i) {
    return i < before.size() ? &before[i] : nullptr;
}

}  // namespace spead::app
