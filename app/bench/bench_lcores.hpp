// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "app/invocation.hpp"
#include "process/stop_signals.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// Describes a benchmark of one lcore or several, and its needs from EAL.
struct LcoreBench {
    std::size_t memory_mib = 0;
    unsigned lcores = 1;  ///< more: worker lcores, and the measurement sleeps on the main one meanwhile
    runtime::BusNeeds bus;
    int (*measure)(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals) = nullptr;
};

/// Starts EAL with one lcore, on the CPU of `options` or the last one allowed, and measures there. Several
/// begin with that CPU and have one each, as far as there are so many. Returns an exit status; throws
/// UsageError and Error.
int run_on_lcores(const LcoreBench& bench, const BenchOptions& options, const Invocation& invocation);

}  // namespace spead::app
