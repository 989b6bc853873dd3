// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/start_thread.hpp"

namespace spead::gather {

/// Starts the thread of an engine, on one of the CPUs; none: on any. Throws Error.
template <typename Function>
std::thread start_engine_thread(const std::vector<unsigned>& cpus, Function function) {
    return start_thread("gather engine", [cpus, function = std::move(function)] {
        pthread_setname_np(pthread_self(), "gather");
        if (!cpus.empty()) {
            cpu_set_t set;
            CPU_ZERO(&set);
            for (const unsigned cpu : cpus)
                CPU_SET(cpu, &set);
            sched_setaffinity(0, sizeof set, &set);
        }
        function();
    });
}

}  // namespace spead::gather
