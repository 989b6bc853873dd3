// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// Returns the EAL memory (MiB) that bench_assemble needs for these options, to be requested before EAL
/// starts.
std::size_t bench_assemble_memory_mib(const BenchOptions& options);

/// Returns the lcores that it needs: a reader on another CPU has one of its own.
unsigned bench_assemble_lcores(const BenchOptions& options);

/// Runs `bench assemble`: prebuilt packets through parse, classify, place, copy and hand-over on one lcore.
/// Compares this with the copy limit: the same payload bytes copied from the same mbufs to the same heap
/// memory without any other work, by the faster kind of copy. All alternate pass by pass in one run; medians
/// count. Prints a table,
/// or writes JSON to `json_path` ("-": standard output). EAL runs; call it on an lcore. One of `signals` ends
/// it after the present measurement; the finished ones are reported. Returns an exit status.
int bench_assemble(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals);

}  // namespace spead::app
