// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// Measures the lcore that polls a queue for several: prebuilt packets to the rings of the others, against
/// the queue alone. On an initialised EAL. Returns an exit status; throws Error.
int bench_distribute(const BenchOptions& options, const std::string& json_path,
                     const process::StopSignals& signals);
/// Returns its EAL memory.
std::size_t bench_distribute_memory_mib(const BenchOptions& options);

}  // namespace spead::app
