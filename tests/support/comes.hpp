// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace spead {

/// Waits for something that another thread does.
template <typename Until>
testing::AssertionResult comes(const Until& until) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!until()) {
        if (std::chrono::steady_clock::now() > end)
            return testing::AssertionFailure() << "it did not come";
        std::this_thread::yield();
    }
    return testing::AssertionSuccess();
}

}  // namespace spead
