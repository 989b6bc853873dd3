// SPDX-License-Identifier: BSD-3-Clause
#include "base/armed_event.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/readable.hpp"

namespace spead {
namespace {

TEST(ArmedEvent, AnnouncesOnlyWhileItIsArmed) {
    ArmedEvent event("test");
    event.announce();
    EXPECT_FALSE(test::is_readable(event.fd()));
    event.arm();
    EXPECT_FALSE(test::is_readable(event.fd()));
    event.announce();
    EXPECT_TRUE(test::is_readable(event.fd()));
    event.announce();
    event.clear();
    EXPECT_FALSE(test::is_readable(event.fd())) << "one announcement disarms it";
    event.announce();
    EXPECT_FALSE(test::is_readable(event.fd()));
    event.arm();
    event.withdraw();
    event.announce();
    EXPECT_FALSE(test::is_readable(event.fd()));
    event.wake();
    EXPECT_TRUE(test::is_readable(event.fd()));
    event.clear();
    EXPECT_FALSE(test::is_readable(event.fd()));
}

TEST(ArmedEvent, NoAnnouncementIsMissed) {
    constexpr int kRounds = 20'000;
    ArmedEvent event("test");
    std::atomic<int> published{0};
    std::atomic<int> taken{0};
    std::thread producer([&] {
        for (int i = 1; i <= kRounds; i++) {
            published.store(i, std::memory_order_relaxed);
            event.announce();
            while (taken.load(std::memory_order_acquire) < i)
                std::this_thread::yield();
        }
    });
    for (int seen = 0; seen < kRounds;) {
        event.arm();
        const int now = published.load(std::memory_order_relaxed);
        // A missed one would end the test here.
        const bool awake = now != seen || test::is_readable(event.fd(), 10'000);
        event.clear();
        if (!awake) {
            ADD_FAILURE() << "round " << seen;
            break;
        }
        if (now != seen) {
            seen = now;
            taken.store(seen, std::memory_order_release);
        }
    }
    taken.store(kRounds, std::memory_order_release);
    producer.join();
}

}  // namespace
}  // namespace spead
