// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/sysfs.hpp"

/// What a thread of this process does, as the kernel tells below /proc. Control world; nothing throws.
namespace spead::runtime {

struct ThreadFacts {
    char state =
        '?';  ///< as in proc(5), stat: R runs or waits for its CPU, S and D sleep, T and t are stopped
    unsigned cpu = 0;          ///< where it ran last
    std::uint64_t ran_ns = 0;  ///< on a CPU, since it was started
    std::string sleeps_in;     ///< the kernel's function; empty: none, or the kernel does not tell
};

/// None: there is no such thread.
std::optional<ThreadFacts> thread_facts(const port::Sysfs& files, int thread);

/// Threads that run on the CPU or wait for it, besides `thread`: "NAME (pid N)", three at most. Looks at no
/// more than some thousand threads.
std::vector<std::string> others_on(const port::Sysfs& files, unsigned cpu, int thread);

/// What the thread did between two looks: "it waits for its CPU, which stress-ng (pid 7) has".
std::string activity(const ThreadFacts& before, const ThreadFacts& now, std::chrono::nanoseconds between,
                     const std::vector<std::string>& others);

}  // namespace spead::runtime
