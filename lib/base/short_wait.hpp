// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <thread>

#include "base/yield_price.hpp"

namespace spead {

/// Waits a moment for another thread, again and again: first it yields the CPU, later or if yields are dear
/// it sleeps. Belongs to one thread, which is no lcore.
class ShortWait {
  public:
    /// Waits; `round` counts the waits since something happened, and is 0 then.
    void wait(unsigned& round) {
        using Clock = std::chrono::steady_clock;
        const auto microseconds = [] {
            return static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
                    .count());
        };
        const std::uint64_t begun = microseconds();
        if (round >= kYields || price_.dear(begun)) {
            std::this_thread::sleep_for(kSleep);
            return;
        }
        round++;
        std::this_thread::yield();
        price_.yielded(begun, microseconds());
    }

  private:
    static constexpr unsigned kYields = 100;
    static constexpr std::chrono::microseconds kSleep{50};

    YieldPrice price_;
};

}  // namespace spead
