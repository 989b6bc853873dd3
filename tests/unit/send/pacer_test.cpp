// SPDX-License-Identifier: BSD-3-Clause
#include "send/pacer.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::send {
namespace {

constexpr double kHz = 2.0e9;

/// Simulates a sender that asks at given times. It sends packets of one size whenever it may.
class Simulation {
  public:
    Simulation(const Pacing& pacing, std::uint64_t packet) : pacer(kHz, pacing), packet_(packet) {}

    /// Sends all that may go at this moment.
    void poll(std::uint64_t now) {
        while (pacer.ready(now)) {
            pacer.charge(packet_);
            sent += packet_;
            times.push_back(now);
        }
    }
    /// Polls every `step` cycles until `end`.
    void run(std::uint64_t begin, std::uint64_t end, std::uint64_t step) {
        for (std::uint64_t now = begin; now < end; now += step)
            poll(now);
    }
    /// Returns the most bytes sent within any window of that many cycles.
    std::uint64_t most_within(std::uint64_t cycles) const {
        std::uint64_t most = 0;
        for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
            while (times[last] - times[first] > cycles)
                ++first;
            most = std::max(most, (last - first + 1) * packet_);
        }
        return most;
    }

    Pacer pacer;
    std::uint64_t sent = 0;
    std::vector<std::uint64_t> times;

  private:
    std::uint64_t packet_;
};

TEST(Pacer, MeetsTheRateExactlyOverALongTime) {
    // A rate that divides nothing evenly: 0.3..., 1.6..., 57.1... cycles per byte.
    for (const double rate : {6.1e9, 1.2345678e9, 3.5e7}) {
        Simulation s({rate, 4096, 1.05}, 1000);
        const double seconds = rate > 1e9 ? 2.0 : 20.0;
        const auto cycles = static_cast<std::uint64_t>(seconds * kHz);
        const auto burst_cycles = static_cast<std::uint64_t>(4096 / rate * kHz);
        s.run(1000, 1000 + cycles, std::max<std::uint64_t>(1, burst_cycles / 3));
        EXPECT_NEAR(static_cast<double>(s.sent), rate * seconds, 3 * 5000.0) << rate;
    }
}

TEST(Pacer, DoesNotDriftWhenTheCostOfABurstIsNoWholeNumberOfCycles) {
    // 1001 bytes at 7 GB/s: 286.0 cycles a burst; one cycle in 286 lost each time would be 0.35 %.
    const double rate = 7.0e9;
    Simulation s({rate, 1001, 1.05}, 1001);
    const std::uint64_t cycles = 400'000'000;
    s.run(0, cycles, 97);
    EXPECT_NEAR(static_cast<double>(s.sent), rate * static_cast<double>(cycles) / kHz, 3 * 1001.0);
}

TEST(Pacer, HandsOutABurstBeforeItLooksAtTheClock) {
    Simulation s({1e6, 10'000, 1.05}, 1000);
    s.poll(5000);
    EXPECT_EQ(s.sent, 10'000U);
    s.poll(5001);
    EXPECT_EQ(s.sent, 10'000U);
    EXPECT_TRUE(s.pacer.waiting());
    EXPECT_NEAR(static_cast<double>(s.pacer.next_time()), 5000 + 0.01 * kHz, 2);
    s.poll(s.pacer.next_time() - 1);
    EXPECT_EQ(s.sent, 10'000U);
    s.poll(s.pacer.next_time());
    EXPECT_EQ(s.sent, 20'000U);
}

TEST(Pacer, NeverSendsMoreThanABurstAboveTheRateWhenPolledInTime) {
    const Pacing pacing{1e9, 16384, 1.05};
    Simulation s(pacing, 1472);
    s.run(0, static_cast<std::uint64_t>(0.2 * kHz), 500);
    for (const double window : {1e-5, 1e-4, 1e-3}) {
        const double allowed = 1.06 * window * pacing.rate + 2 * (16384.0 + 1472.0);
        EXPECT_LE(static_cast<double>(s.most_within(static_cast<std::uint64_t>(window * kHz))), allowed)
            << window;
    }
}

TEST(Pacer, CatchesUpAfterADelayNoFasterThanTheBurstRatio) {
    const Pacing pacing{1e9, 8192, 1.25};
    Simulation s(pacing, 1024);
    const auto ms = static_cast<std::uint64_t>(kHz / 1000);
    s.run(0, 10 * ms, 200);
    s.run(15 * ms, 20 * ms, 200);  // 5 ms late
    const std::uint64_t at_20 = s.sent;
    EXPECT_NEAR(static_cast<double>(at_20), 10e-3 * 1e9 + 5e-3 * 1.25e9, 4e4);
    s.run(20 * ms, 100 * ms, 200);
    EXPECT_NEAR(static_cast<double>(s.sent), 100e-3 * 1e9, 4e4) << "what was missed must be made up for";
    const std::size_t late = s.most_within(ms);
    EXPECT_LE(static_cast<double>(late), 1.25e-3 * 1e9 + 2 * 9216.0);
}

TEST(Pacer, GivesNoCreditForTimeWithoutAnythingToSend) {
    const Pacing pacing{1e9, 8192, 1.25};
    Simulation s(pacing, 1024);
    const auto ms = static_cast<std::uint64_t>(kHz / 1000);
    s.run(0, 10 * ms, 200);
    const std::uint64_t before = s.sent;
    s.pacer.resume(500 * ms);
    s.run(500 * ms, 510 * ms, 200);
    EXPECT_NEAR(static_cast<double>(s.sent - before), 10e-3 * 1e9, 2.5e4)
        << "the idle time must not be made up for";
}

TEST(Pacer, RemembersWhatWasHandedOutAcrossShortIdleTimes) {
    // Heaps of 3000 bytes, each sent alone, must not add up to more than the rate.
    Pacer pacer(kHz, {1e9, 8192, 1.05});
    std::uint64_t sent = 0;
    const auto end = static_cast<std::uint64_t>(0.01 * kHz);
    for (std::uint64_t now = 0; now < end; now += 1000) {
        pacer.resume(now);
        if (pacer.ready(now)) {
            pacer.charge(3000);
            sent += 3000;
        }
    }
    EXPECT_NEAR(static_cast<double>(sent), 0.01 * 1e9, 2.5e4);
}

TEST(Pacer, ChargesAHeapAtItsOwnRate) {
    Pacer pacer(kHz, {1e9, 1000, 1.05});
    const Pacer::Cost slow = pacer.cost_of(1e8);
    ASSERT_TRUE(pacer.ready(0));
    pacer.charge(1000, slow);
    EXPECT_FALSE(pacer.ready(1));
    EXPECT_NEAR(static_cast<double>(pacer.next_time()), 1000 / 1e8 * kHz, 2);
}

TEST(Pacer, LetsEverythingPassWithoutARate) {
    Simulation s({0, 65536, 1.05}, 1000);
    EXPECT_EQ(s.pacer.cost(), Pacer::Cost{0});
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(s.pacer.ready(7));
        s.pacer.charge(1000);
    }
}

TEST(Pacer, StartsAtARateSetLaterWithoutCreditOrDebt) {
    Pacer pacer(kHz, {0, 1000, 1.05});
    const auto second = static_cast<std::uint64_t>(kHz);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(pacer.ready(5 * second));
        pacer.charge(1000);
    }
    pacer.set({1e6, 1000, 1.05});
    EXPECT_TRUE(pacer.ready(10 * second));
    pacer.charge(1000);
    EXPECT_FALSE(pacer.ready(10 * second));
    EXPECT_NEAR(static_cast<double>(pacer.next_time()), static_cast<double>(10 * second) + 1e-3 * kHz, 2);
    pacer.set({1e9, 1000, 1.05});
    EXPECT_EQ(pacer.pacing().rate, 1e9);
}

TEST(Pacer, CountsABurstSizeOfZeroAsOneByte) {
    Pacer pacer(kHz, {1e9, 0, 1.05});
    ASSERT_TRUE(pacer.ready(0));
    EXPECT_EQ(pacer.budget(), 1U);
    pacer.charge(2000);
    EXPECT_FALSE(pacer.ready(0));
}

TEST(Pacer, BearsRatesOfAnySize) {
    Pacer pacer(kHz, {1e-300, 1000, 1.05});
    ASSERT_TRUE(pacer.ready(1000));
    pacer.charge(1);
    EXPECT_TRUE(pacer.ready(1000));
    pacer.charge(999);
    EXPECT_FALSE(pacer.ready(1'000'000'000'000));
    Pacer fast(kHz, {1e15, 1000, 1.05});
    ASSERT_TRUE(fast.ready(0));
    fast.charge(1'000'000);
    EXPECT_FALSE(fast.ready(0));
    EXPECT_TRUE(fast.ready(3));
}

TEST(Pacer, ARateThatIsRaisedShortensAWaitThatHasBegun) {
    // 8 kb/s and 1 Gb/s: a burst of 64 KiB takes 65 s, then half a millisecond.
    Simulation s({1e3, 65536, 1.05}, 1472);
    const auto second = static_cast<std::uint64_t>(kHz);
    s.run(0, second, second / 100);
    ASSERT_TRUE(s.pacer.waiting());
    const std::uint64_t before = s.sent;
    s.pacer.set({125e6, 65536, 1.05});
    s.run(second, second + second / 10, 5000);
    EXPECT_NEAR(static_cast<double>(s.sent - before), 12.5e6, 2 * 70'000.0);
}

TEST(Pacer, ARateThatIsLoweredLengthensAWaitThatHasBegun) {
    Pacer pacer(kHz, {1e6, 1000, 1.05});
    ASSERT_TRUE(pacer.ready(0));
    pacer.charge(1000);
    ASSERT_FALSE(pacer.ready(0));  // for a millisecond
    pacer.set({1e5, 1000, 1.05});
    EXPECT_FALSE(pacer.ready(static_cast<std::uint64_t>(0.4e-3 * kHz)));
    EXPECT_NEAR(static_cast<double>(pacer.next_time()), 6.4e-3 * kHz, 2)
        << "ten times the 0.6 ms that were left";
}

TEST(Pacer, WhatWasHandedOutBeforeTheRateChangedCostsWhatItCostsNow) {
    Pacer pacer(kHz, {1e3, 10'000, 1.05});
    ASSERT_TRUE(pacer.ready(0));
    pacer.charge(9'000);
    pacer.set({1e6, 10'000, 1.05});
    ASSERT_TRUE(pacer.ready(1));
    pacer.charge(1'000);
    EXPECT_FALSE(pacer.ready(1));
    EXPECT_NEAR(static_cast<double>(pacer.next_time()), 10e-3 * kHz, 4);
}

TEST(Pacer, AWaitEndsWhenTheRateIsTakenAway) {
    Pacer pacer(kHz, {1e3, 1000, 1.05});
    ASSERT_TRUE(pacer.ready(0));
    pacer.charge(1000);
    ASSERT_FALSE(pacer.ready(1));
    pacer.set({0, 1000, 1.05});
    EXPECT_TRUE(pacer.ready(2));
    // And what was unlimited owes nothing.
    pacer.charge(1000);
    pacer.set({1e3, 1000, 1.05});
    EXPECT_TRUE(pacer.ready(3));
}

TEST(Pacer, TheRateOfAHeapIsNotTheStreams) {
    // Two thirds of the wait are the heap's, at its own rate.
    Pacer pacer(kHz, {1e6, 2000, 1});
    ASSERT_TRUE(pacer.ready(0));
    pacer.charge(1000);
    pacer.charge(1000, pacer.cost_of(0.5e6));
    ASSERT_FALSE(pacer.ready(0));  // for 3 ms
    pacer.set({1e9, 2000, 1});
    EXPECT_FALSE(pacer.ready(0));
    EXPECT_NEAR(static_cast<double>(pacer.next_time()), 2.001e-3 * kHz, 4);
}

TEST(Pacer, TheSamePacingAgainChangesNothing) {
    const Pacing pacing{1e9, 8192, 1.25};
    Simulation s(pacing, 1024);
    const auto ms = static_cast<std::uint64_t>(kHz / 1000);
    s.run(0, 10 * ms, 200);
    const std::uint64_t before = s.sent;
    s.pacer.set(pacing);
    s.run(12 * ms, 22 * ms, 200);  // 2 ms late
    EXPECT_NEAR(static_cast<double>(s.sent - before), 12e6, 3e4) << "late, and made up for";
}

TEST(Pacer, AnOutageEarnsNoCredit) {
    const Pacing pacing{1e9, 8192, 1.25};
    Simulation s(pacing, 1024);
    const auto ms = static_cast<std::uint64_t>(kHz / 1000);
    s.run(0, 10 * ms, 200);
    const std::uint64_t before = s.sent;
    s.pacer.restart();
    s.run(500 * ms, 510 * ms, 200);
    EXPECT_NEAR(static_cast<double>(s.sent - before), 10e-3 * 1e9, 2.5e4);
}

/// Tests rates and burst sizes in any order, polled often. No burst goes before the sent bytes have had their
/// time at the rate that holds now. None goes much later.
TEST(Pacer, RatesThatChangeAtAnyTimeAreMet) {
    std::mt19937_64 random(5);
    const auto pick = [&random](double from, double to) {
        return std::exp(std::uniform_real_distribution(std::log(from), std::log(to))(random));
    };
    const auto pacing = [&] { return Pacing{pick(1e4, 1e9), 1 + random() % 100'000, 1.05}; };
    Pacing now_is = pacing();
    Pacer pacer(kHz, now_is);
    std::uint64_t now = 1000;
    double owed = 0;  // seconds for which what was sent must still be waited for; below 0: credit
    std::uint64_t bursts = 0;
    for (int change = 0; change < 2000; ++change) {
        const double burst = std::max(static_cast<double>(now_is.burst_size), 1000.0) / now_is.rate;
        const auto step = static_cast<std::uint64_t>(burst / 40 * kHz);
        for (std::uint64_t polls = random() % 200; polls > 0; --polls) {
            while (pacer.ready(now)) {
                if (pacer.burst_begins()) {
                    ASSERT_LE(owed, 1e-9 + burst * 1e-6) << change;
                    bursts++;
                }
                pacer.charge(1000);
                owed += 1000 / now_is.rate;
            }
            ASSERT_GT(owed, -0.1 * burst) << change;
            now += step;
            owed -= static_cast<double>(step) / kHz;
        }
        const double before = now_is.rate;
        now_is = pacing();
        pacer.set(now_is);
        owed = std::max(owed, 0.0) * before / now_is.rate;
    }
    EXPECT_GT(bursts, 2000U);
}

}  // namespace
}  // namespace spead::send
