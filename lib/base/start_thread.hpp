// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace spead {

/// Starts a thread that runs `function`. Throws Error naming `what` when the system cannot make one.
template <typename Function>
std::thread start_thread(const std::string& what, Function&& function) {
    try {
        return std::thread(std::forward<Function>(function));
    } catch (const std::system_error& error) {
        throw_error(
            what,
            "no thread can be started: {}; raise the limit of threads (ulimit -u, TasksMax= of a service, "
            "pids.max of a container)",
            error.code().message());
    }
}

}  // namespace spead
