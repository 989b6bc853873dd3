// SPDX-License-Identifier: BSD-3-Clause
#include "base/run_within.hpp"

#include <future>
#include <utility>

#include "base/start_thread.hpp"

namespace spead {

bool run_within(std::chrono::milliseconds patience, const std::string& what, std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    std::future<void> end = task.get_future();
    start_thread(what, std::move(task)).detach();
    if (end.wait_for(patience) != std::future_status::ready)
        return false;
    end.get();
    return true;
}

}  // namespace spead
