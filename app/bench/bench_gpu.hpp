// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/bench/gpu_passes.hpp"
#include "process/stop_signals.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Sets the command's defaults and adds its options. `options` must outlive the parse.
void add_gpu_options(CLI::App& app, GpuBenchOptions& options);

/// Throws UsageError for options that contradict each other.
void check_gpu_bench(const GpuBenchOptions& options);

/// Runs `bench gpu`: three limits of the GPU, and beside each, in the same rounds, the ways to bring payload
/// into its memory. Every way is verified, byte by byte. Prints the card and a table, or writes JSON to
/// `json_path` ("-": standard output). Needs no EAL. One of `signals` ends it after the present round.
/// Returns an exit status; throws Error when there is no GPU.
int bench_gpu(const GpuBenchOptions& options, const std::string& json_path,
              const process::StopSignals& signals);

}  // namespace spead::app
