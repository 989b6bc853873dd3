// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <poll.h>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace spead {

/// Waits for the time, or until `fd` becomes readable (a signal's descriptor; -1: none). Then throws Error,
/// so that the start of `where` gives up at once; `fd` stays readable. Control code.
inline void wait_interruptibly(int fd, std::chrono::nanoseconds time, std::string_view where,
                               std::string_view what) {
    constexpr long kSecond = 1'000'000'000;
    const auto left = static_cast<long>(std::max(time, std::chrono::nanoseconds::zero()).count());
    const timespec timeout{left / kSecond, left % kSecond};
    pollfd interrupt{fd, POLLIN, 0};
    if (ppoll(&interrupt, 1, &timeout, nullptr) > 0)
        throw_error(std::string(where), "interrupted while {}", what);
}

}  // namespace spead
