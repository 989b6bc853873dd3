// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Finds the hosts that `top --fleet` shows.
namespace spead::app {

/// Names the metrics server of one process.
struct FleetTarget {
    std::string address;  ///< "host:port"
    std::string shard;    ///< "0/3", by the file of targets; empty: it does not say
    bool operator==(const FleetTarget&) const = default;
};

/// Limits the processes of one picture.
inline constexpr std::size_t kMostTargets = 4096;

/// Returns the targets of `text`: addresses with commas ("10.0.0.1:9100,recv-2:9100"), or the
/// path of a file of targets for Prometheus (`plan --format file_sd` writes it). Throws UsageError.
std::vector<FleetTarget> fleet_targets(const std::string& text);

/// Does the same for the contents of such a file; `path` is for errors. Pure.
std::vector<FleetTarget> targets_in(std::string_view contents, const std::string& path);

}  // namespace spead::app
