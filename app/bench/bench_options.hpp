// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Holds the measurements of `bench assemble` and `bench transmit`: every combination of the lists.
struct BenchOptions {
    std::vector<std::uint32_t> payload_sizes;  ///< SPEAD payload bytes per packet
    std::vector<std::uint64_t> heap_sizes;     ///< bytes; 0: one packet per heap
    std::vector<std::uint64_t> working_sets;   ///< assemble: bytes of heaps cycled through (warm and cold)
    std::vector<std::uint32_t> streams;        ///< assemble: number of streams fed in turn
    std::vector<std::uint32_t> live_heaps;     ///< assemble: heaps open at once, per stream
    double time = 1.0;                         ///< seconds measured per combination
    std::uint32_t rounds = 5;  ///< alternations between the work and its limit; the median counts
    std::string device;        ///< transmit: port to send into
    runtime::ZeroCopySetting zero_copy = runtime::ZeroCopySetting::automatic;
    double rate = 0;  ///< transmit: bytes per second, 0: unlimited
    std::optional<unsigned> lcore;
    bool operator==(const BenchOptions&) const = default;
};

/// Sets the command's defaults and adds its options. `options` must outlive the parse.
void add_assemble_options(CLI::App& app, BenchOptions& options);
void add_transmit_options(CLI::App& app, BenchOptions& options);

/// Throws UsageError for options that contradict each other.
void check_bench(const BenchOptions& options);

}  // namespace spead::app
