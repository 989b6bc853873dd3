// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "app/bench/bench_options.hpp"
#include "process/stop_signals.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

/// Returns the EAL memory (MiB) that bench_transmit needs for these options, to be requested before EAL
/// starts.
std::size_t bench_transmit_memory_mib(const BenchOptions& options);
/// Returns the other needs of its port from EAL.
runtime::BusNeeds bench_transmit_bus(const BenchOptions& options);

/// Runs `bench transmit`: heaps through packetiser, external buffers and pacer into a port (net_null by
/// default), submitted, sent and completed by one lcore. Compares this with a bare loop that only allocates,
/// attaches and sends the two mbufs of each packet. The two alternate in one run; medians count. Prints a
/// table, or writes JSON to `json_path` ("-": standard output). EAL runs; call it on an lcore. One of
/// `signals` ends it after the present measurement; the finished ones are reported. Returns an exit status.
/// Throws Error when the port cannot be opened or takes nothing.
int bench_transmit(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals);

}  // namespace spead::app
