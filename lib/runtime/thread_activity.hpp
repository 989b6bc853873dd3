// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/sysfs.hpp"

/// Describes the activity of a thread of this process, from /proc. Control code; nothing throws.
namespace spead::runtime {

struct ThreadFacts {
    char state =
        '?';  ///< as in proc(5), stat: R runs or waits for its CPU, S and D sleep, T and t are stopped
    unsigned cpu = 0;          ///< where it ran last
    std::uint64_t ran_ns = 0;  ///< on a CPU, since it was started
    std::string sleeps_in;     ///< the kernel's function; empty: none, or unknown
};

/// Returns the facts of a thread; none: it does not exist.
std::optional<ThreadFacts> thread_facts(const port::Sysfs& files, int thread);

/// Returns threads that run on the CPU or wait for it, besides `thread`: "NAME (pid N)", three at most. Looks
/// at some thousand threads at most.
std::vector<std::string> others_on(const port::Sysfs& files, unsigned cpu, int thread);

/// Returns how often the threads of this process, together, gave up their CPU without sleeping: another
/// thread took it, or they yielded. Threads that have ended no longer count.
std::uint64_t involuntary_switches(const port::Sysfs& files);

/// Returns the thread's activity between two looks: "it waits for its CPU, which stress-ng (pid 7) has".
std::string activity(const ThreadFacts& before, const ThreadFacts& now, std::chrono::nanoseconds between,
                     const std::vector<std::string>& others);

}  // namespace spead::runtime
