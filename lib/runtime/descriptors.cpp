// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/descriptors.hpp"

#include <fcntl.h>
#include <latch>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/counted.hpp"
#include "base/error.hpp"

namespace spead::runtime {

namespace {

rlim_t limit() noexcept {
    rlimit now{};
    return getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : RLIM_INFINITY;
}

}  // namespace

void need_descriptors(std::size_t needed) {
    rlimit now{};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0)
        return;
    if (now.rlim_cur < now.rlim_max) {
        const rlimit most{now.rlim_max, now.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &most) == 0)
            now = most;
    }
    if (now.rlim_cur < needed)
        throw_error(
            "start",
            "this process may open {} file descriptors, and needs about {}; raise the limit (ulimit -n, "
            "LimitNOFILE= of a service)",
            now.rlim_cur, needed);
}

bool is_one_of_the_last(int fd) noexcept {
    const rlim_t most = limit();
    return fd >= 0 && most != RLIM_INFINITY && static_cast<rlim_t>(fd) + kKeptDescriptors >= most;
}

void need_kept_descriptors(const char* what) {
    const rlim_t most = limit();
    if (most == RLIM_INFINITY)
        return;
    // The lowest that is free tells how many are left at least.
    const int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (lowest >= 0)
        ::close(lowest);
    if (lowest < 0 || is_one_of_the_last(lowest))
        throw_error("descriptors",
                    "too few file descriptors are left of {}, and {} needs some; nothing was changed. Raise "
                    "the limit (ulimit -n, LimitNOFILE= of a service, prlimit while it runs)",
                    most, what);
}

void need_threads(std::size_t needed) {
    std::latch enough{1};
    std::vector<std::thread> threads;
    threads.reserve(needed);
    std::error_code error;
    while (!error && threads.size() < needed)
        try {
            threads.emplace_back([&enough] { enough.wait(); });
        } catch (const std::system_error& e) {
            error = e.code();
        }
    enough.count_down();
    for (std::thread& t : threads)
        t.join();
    if (error)
        throw_error("start",
                    "this process needs about {}, and got {}: {}; raise the limit (ulimit -u, "
                    "TasksMax= of a service, pids.max of a container)",
                    counted(needed, "more threads"), threads.size(), error.message());
}

}  // namespace spead::runtime
