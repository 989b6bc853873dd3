// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/callback_watch.hpp"

#include <gtest/gtest.h>

namespace spead::runtime::unit_test {
namespace {

constexpr std::uint64_t kSecond = 1000;

/// Lets seconds pass in which the callback takes so many thousandths.
struct WatchRig {
    std::optional<double> second(std::uint64_t taken) {
        callback += taken;
        all += kSecond;
        return watch.update(callback, all, kSecond);
    }
    CallbackWatch watch;
    std::uint64_t callback = 0;
    std::uint64_t all = 0;
};

TEST(CallbackWatch, ReportsOnceUntilItIsBetter) {
    WatchRig rig;
    EXPECT_FALSE(rig.second(900)) << "what was before the first look is not of this second";
    EXPECT_FALSE(rig.second(250));
    EXPECT_DOUBLE_EQ(rig.second(251).value_or(0), 0.251);
    EXPECT_FALSE(rig.second(900));
    EXPECT_FALSE(rig.second(201)) << "near the limit it stays slow";
    EXPECT_TRUE(rig.watch.slow());
    EXPECT_FALSE(rig.second(200));
    EXPECT_FALSE(rig.watch.slow());
    EXPECT_DOUBLE_EQ(rig.second(400).value_or(0), 0.4);
}

TEST(CallbackWatch, JudgesWholeSeconds) {
    WatchRig rig;
    rig.second(0);
    EXPECT_FALSE(rig.watch.update(400, kSecond + 400, kSecond)) << "a busy part of a second";
    EXPECT_FALSE(rig.watch.update(400, 2 * kSecond - 1, kSecond));
    EXPECT_DOUBLE_EQ(rig.watch.update(400, 2 * kSecond, kSecond).value_or(0), 0.4);
    EXPECT_FALSE(rig.watch.update(400, 2 * kSecond, kSecond)) << "an lcore that gave no new answer";
}

TEST(CallbackWatch, BeginsAnewWithCountsThatDo) {
    WatchRig rig;
    rig.second(0);
    rig.second(100);
    EXPECT_FALSE(rig.watch.update(0, kSecond / 2, kSecond));
    EXPECT_FALSE(rig.watch.update(100, kSecond + kSecond / 2, kSecond));
    EXPECT_TRUE(rig.watch.update(400, 3 * kSecond - kSecond / 2, kSecond));
}

}  // namespace
}  // namespace spead::runtime::unit_test
