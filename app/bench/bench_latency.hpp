// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/bench/bench_pair.hpp"
#include "app/bench/latency_origin.hpp"

namespace spead::app {

struct LatencyRow {
    PairCase c;
    double load = 0;  ///< bytes of UDP payload per second; 0: ping-pong
    LatencyOrigin::Result result;
    std::uint64_t preemptions = 0;  ///< of threads of both ends that had work
};

inline constexpr std::array<double, 5> kLatencyPercentiles{50, 90, 99, 99.9, 99.99};

/// Returns whether the number of values suffices for the percentile: at least one lies above it.
bool percentile_means_something(double percent, std::uint64_t values);

std::string latency_table(const std::vector<LatencyRow>& rows);
std::string latency_json(const PairOptions& options, const std::vector<LatencyRow>& rows,
                         const PairOutcome& outcome);
/// Returns one line per bucket: payload_bytes,heap_bytes,load_bps,lowest_ns,highest_ns,heaps.
std::string latency_csv(const std::vector<LatencyRow>& rows);

/// Runs `bench latency`; returns the program's exit status.
int bench_latency(const PairOptions& options, const std::vector<std::string>& eal_args,
                  const std::string& json_path, bool quiet);

}  // namespace spead::app
