// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// Returns how many worker lcores bench_chunks needs; 1: the calling one does.
unsigned bench_chunks_lcores(const BenchOptions& options);

/// Returns the EAL memory (MiB) that bench_chunks needs for these options. Throws UsageError for the name of
/// a pattern that does not exist.
std::size_t bench_chunks_memory_mib(const BenchOptions& options);

/// Runs `bench chunks`: prebuilt packets of patterns (base/heap_pattern.hpp) into chunks on one lcore or
/// several, in the way that the options name. Compares this with the copy limit as bench_assemble does.
/// Chunks are taken, and given back, between the measured passes: that is the consumer's work. Every byte of
/// one pass is compared. Prints a table, or writes JSON to `json_path` ("-": standard output). EAL runs; call
/// it on an lcore. One of `signals` ends it after the present measurement. Returns an exit status.
int bench_chunks(const BenchOptions& options, const std::string& json_path,
                 const process::StopSignals& signals);

}  // namespace spead::app
