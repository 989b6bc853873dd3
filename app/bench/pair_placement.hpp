// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "port/sysfs.hpp"
#include "runtime/plan.hpp"

/// Places the threads of two processes, each with one lcore, on the CPUs of one machine.
namespace spead::app {

/// Is a CPU, and the core that it is a thread of.
struct BenchCpu {
    unsigned cpu = 0;
    unsigned core = 0;  ///< the lowest CPU of the core
    bool operator==(const BenchCpu&) const = default;
};

/// Returns the CPUs with their cores, as /sys has them. A CPU that /sys does not describe is a core.
std::vector<BenchCpu> bench_cpus(const port::Sysfs& files, const std::vector<unsigned>& cpus);

/// Says where one end runs.
struct EndPlacement {
    unsigned lcore = 0;
    std::vector<unsigned> cpus;  ///< of the process; its main lcore has the lowest that is not `lcore`
    /// Returns the CPUs of the threads that are not lcores.
    std::vector<unsigned> others() const;
    bool operator==(const EndPlacement&) const = default;
};

struct PairPlacement {
    EndPlacement near;
    EndPlacement far;
    std::string reason;  ///< why threads share CPUs or cores; empty: none do

    /// Returns sentences for the user: the CPUs of all threads, and the reason.
    std::string text() const;
    /// Returns a warning if an lcore in this mode never pauses on a CPU of other threads of the benchmark;
    /// empty: none does. `near_too`: the near end receives as well.
    std::string warning(runtime::PollMode poll, bool near_too) const;
};

/// Places both ends on these CPUs, ascending and at least one. Pure. Lcores that are named stay where they
/// are.
///
/// From four CPUs on, each end has half of them, lcores on different cores. Of three, one is for the other
/// threads of both ends. Two CPUs have an end each: an lcore gives way when all heaps are sent, and then its
/// own generator makes the next ones. In a run of `bench link` with packets of 1472 bytes on two
/// CPUs, that reached 60 Gb/s. With the other threads on the CPU of the other end's lcore, it was 38 Gb/s.
PairPlacement place_pair(std::vector<BenchCpu> cpus, std::optional<unsigned> tx_lcore,
                         std::optional<unsigned> rx_lcore);

}  // namespace spead::app
