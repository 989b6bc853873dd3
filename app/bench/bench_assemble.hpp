// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// EAL memory (MiB) that bench_assemble needs for these options, to be asked for before EAL starts.
std::size_t bench_assemble_memory_mib(const BenchOptions& options);

/// `bench assemble`: prebuilt packets through parse, classify, place, copy and hand-over on one lcore, beside
/// the copy limit: the same payload bytes copied from the same mbufs to the same heap memory with nothing
/// else done. The two alternate pass by pass in one run; medians count. Prints a table, or writes JSON to
/// `json_path` ("-": standard output). EAL runs; call it on an lcore. One of `signals` ends it after what
/// is being measured; what has been is reported. Returns an exit status.
int bench_assemble(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals);

}  // namespace spead::app
