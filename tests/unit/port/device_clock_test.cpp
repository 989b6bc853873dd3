// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_clock.hpp"

#include <gtest/gtest.h>

namespace spead::port {
namespace {

constexpr std::uint64_t kUtc = 1'700'000'000'000'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

/// Samples a clock of 156.25 MHz and an lcore of 2.5 GHz, at second `s` of a run. Both began long ago.
DeviceClock::Sample at(double s, double drift = 0) {
    return {9'000'000'000'000'000 + static_cast<std::uint64_t>(s * 156.25e6 * (1 + drift)),
            77'000'000'000'000 + static_cast<std::uint64_t>(s * 2.5e9),
            kUtc + static_cast<std::uint64_t>(s * 1e9)};
}

void expect_near(std::uint64_t a, std::uint64_t b, std::uint64_t most) {
    EXPECT_LE(a > b ? a - b : b - a, most) << a << " and " << b;
}

TEST(DeviceClock, KnowsNothingBeforeTwoSamples) {
    DeviceClock clock;
    EXPECT_FALSE(clock.known());
    clock.take(at(0));
    EXPECT_FALSE(clock.known());
    clock.take(at(0.02));
    EXPECT_TRUE(clock.known());
}

TEST(DeviceClock, TranslatesInBothDirectionsBeforeAndAfterItsSamples) {
    DeviceClock clock;
    for (double s = 0; s < 40; s += 1) {
        clock.take(at(s));
        for (const double other : {s - 0.5, s + 1.5}) {
            const auto t = at(std::max(other, 0.0));
            if (!clock.known())
                continue;
            expect_near(clock.utc_of(t.device), t.utc, 100);
            expect_near(clock.device_of(t.cycles), t.device, 20);
        }
    }
}

TEST(DeviceClock, KnowsOneThatSaysUtc) {
    DeviceClock clock;
    clock.take(at(0));
    EXPECT_FALSE(clock.is_utc());
    for (const double s : {0.0, 1.0}) {
        auto sample = at(s);
        sample.device = sample.utc + 37 * kSecond;  // TAI's leap seconds
        clock.take(sample);
    }
    EXPECT_TRUE(clock.is_utc());
}

TEST(DeviceClock, FollowsAClockWhoseRateChanges) {
    DeviceClock clock;
    for (double s = 0; s < 10; s += 1)
        clock.take(at(s));
    for (double s = 100; s < 100 + DeviceClock::kSamples; s += 1)
        clock.take(at(s, 1e-4));
    const auto t = at(100.0 + DeviceClock::kSamples, 1e-4);
    expect_near(clock.utc_of(t.device), t.utc, 1000);
    expect_near(clock.device_of(t.cycles), t.device, 200);
}

TEST(DeviceClock, StartsAnewWhenTheDeviceWasResetAndIgnoresASetTime) {
    DeviceClock clock;
    clock.take(at(0));
    clock.take(at(1));
    auto back = at(2);
    back.utc -= 3600 * kSecond;
    clock.take(back);
    expect_near(clock.utc_of(at(2).device), at(2).utc, 100);

    DeviceClock other;
    other.take(at(0));
    other.take(at(1));
    DeviceClock::Sample first = at(5), second = at(6);
    first.device -= at(5).device - 100;
    second.device -= at(5).device - 100;
    other.take(first);
    other.take(second);
    expect_near(other.utc_of(second.device), second.utc, 100);
}

}  // namespace
}  // namespace spead::port
