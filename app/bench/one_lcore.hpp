// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "app/invocation.hpp"
#include "process/stop_signals.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// Describes a benchmark of one lcore, and its needs from EAL.
struct OneLcoreBench {
    std::size_t memory_mib = 0;
    runtime::BusNeeds bus;
    int (*measure)(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals) = nullptr;
};

/// Starts EAL with one lcore, on the CPU of `options` or the last one allowed, and measures there. Returns an
/// exit status; throws UsageError and Error.
int run_on_one_lcore(const OneLcoreBench& bench, const BenchOptions& options, const Invocation& invocation);

}  // namespace spead::app
