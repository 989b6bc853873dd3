// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// EAL memory (MiB) that bench_transmit needs for these options, to be asked for before EAL starts.
std::size_t bench_transmit_memory_mib(const BenchOptions& options);
/// What its port needs of EAL besides.
runtime::BusNeeds bench_transmit_bus(const BenchOptions& options);

/// `bench transmit`: heaps through packetiser, external buffers and pacer into a port (net_null by default),
/// submitted, sent and completed by one lcore, beside a bare loop that only allocates, attaches and sends the
/// two mbufs of each packet. The two alternate in one run; medians count. Prints a table, or writes JSON to
/// `json_path` ("-": standard output). EAL runs; call it on an lcore. One of `signals` ends it after what
/// is being measured; what has been is reported. Returns an exit status; throws Error
/// when the port cannot be opened or takes nothing.
int bench_transmit(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals);

}  // namespace spead::app
