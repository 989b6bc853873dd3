// SPDX-License-Identifier: BSD-3-Clause
// Ports that send at a time: bursts carry it, at the rate's spacing, and go to the port a bounded time ahead.
#include <gmock/gmock.h>

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

class Scheduled : public SenderTest {
  protected:
    Scheduled() {
        queue.look = [this](const rte_mbuf& m) {
            queue.frames.push_back(frame_of(m));
            if ((m.ol_flags & config.send_times.flag) != 0 && config.send_times.flag != 0)
                stamps.push_back(
                    {*RTE_MBUF_DYNFIELD(&m, config.send_times.offset, const rte_mbuf_timestamp_t*), now,
                     queue.frames.size() - 1});
        };
        config.pacing = {.rate = 100e6, .burst_size = 10 * 1472, .burst_rate_ratio = 1.05};
    }
    /// Sets the device's clock to the lcore's plus 5000, so that times can be compared.
    void schedule() {
        clock.take({5000 + 10, 10, 1'000'000});
        clock.take({5000 + hz, hz, 1'000'000'000 + 1'000'000});
        config.send_times = port::send_times(clock);
    }

    struct Stamp {
        std::uint64_t time;
        std::uint64_t taken;  ///< time at which the port took it
        std::size_t frame;
    };
    const std::uint64_t hz = rte_get_tsc_hz();
    port::DeviceClock clock;
    std::vector<Stamp> stamps;
};

TEST_F(Scheduled, BurstsCarryTimesOfTheRatesSpacing) {
    schedule();
    OutgoingHeap& h = heap(1432 * 200);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run(10'000'000));
    EXPECT_EQ(payloads(), expected(h, 1));
    const std::size_t packets = queue.frames.size();
    ASSERT_EQ(stamps.size(), (packets + 9) / 10);
    EXPECT_EQ(sender().counters().scheduled, stamps.size());
    const double spacing = 10 * 1472 / 100e6 * static_cast<double>(hz);
    const std::uint64_t horizon = hz / 1000;
    for (std::size_t i = 0; i < stamps.size(); i++) {
        EXPECT_EQ(stamps[i].frame, 10 * i) << "the first packet of each burst";
        EXPECT_NEAR(static_cast<double>(stamps[i].time - stamps[0].time), spacing * static_cast<double>(i),
                    static_cast<double>(i) + 2);
        const std::uint64_t cycles = stamps[i].time - 5000;
        EXPECT_LE(cycles, stamps[i].taken + horizon + 2) << "not further ahead than the horizon";
        EXPECT_GE(cycles + 2, stamps[i].taken) << "not late";
    }
}

TEST_F(Scheduled, WhatIsNotPacedCarriesNoTime) {
    schedule();
    config.pacing.rate = 0;
    ASSERT_TRUE(sender().submit({&heap(1432 * 50)}));
    ASSERT_TRUE(run());
    EXPECT_TRUE(stamps.empty());
    EXPECT_EQ(sender().counters().scheduled, 0U);
}

TEST_F(Scheduled, WithoutAClockTheLcorePaces) {
    ASSERT_TRUE(sender().submit({&heap(1432 * 50)}));
    ASSERT_TRUE(run(10'000'000));
    for (const Frame& f : queue.frames)
        EXPECT_EQ(f.flags & ~(RTE_MBUF_F_EXTERNAL), 0U) << "nothing on packets";
    EXPECT_EQ(sender().counters().scheduled, 0U);
}

TEST_F(Scheduled, AClockThatIsNotKnownYetLeavesItToTheLcore) {
    config.send_times = port::send_times(clock);
    ASSERT_TRUE(sender().submit({&heap(1432 * 50)}));
    ASSERT_TRUE(run(10'000'000));
    EXPECT_TRUE(stamps.empty());
}

TEST_F(Scheduled, TheNextSendTimeIsThatOfHandingOver) {
    schedule();
    ASSERT_TRUE(sender().submit({&heap(1432 * 200)}));
    poll();
    poll();
    const std::uint64_t next = sender().next_send_time();
    ASSERT_NE(next, 0U);
    const std::size_t before = queue.frames.size();
    now = next - 2000;
    poll();
    EXPECT_EQ(queue.frames.size(), before);
    now = next;
    poll();
    EXPECT_EQ(queue.frames.size(), before + 10);
    ASSERT_TRUE(run(10'000'000));
}

}  // namespace
}  // namespace spead::send::test
