// SPDX-License-Identifier: BSD-3-Clause
// The times of packets, and the ends of sending: ports that are full, stops, cuts, rates.
#include <gmock/gmock.h>
#include <numeric>

#include <rte_cycles.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

using testing::Each;

TEST_F(SenderTest, KeepsWhatTheDriverDoesNotTakeAndSendsItLaterInOrder) {
    std::uint64_t call = 0;
    queue.accept = [&](std::uint16_t n) {
        return static_cast<std::uint16_t>(++call % 3 == 0 ? 0 : n * (call % 7) / 6);
    };
    std::vector<Bytes> all;
    for (std::uint64_t i = 0; i < 20; ++i) {
        OutgoingHeap& h = heap(30'000 + i * 100, i * 1000);
        for (Bytes& b : expected(h, i + 1))
            all.push_back(std::move(b));
        ASSERT_TRUE(sender().submit({&h}));
    }
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), all);
    const stats::SendCounters& c = sender().counters();
    EXPECT_EQ(c.packets, all.size());
    EXPECT_EQ(c.bytes, std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                                       [](std::uint64_t sum, const Bytes& b) { return sum + b.size(); }));
    EXPECT_EQ(c.frame_bytes, c.bytes + 42 * c.packets);
    EXPECT_EQ(c.heaps, 20U);
    EXPECT_GT(c.tx_full, 0U);
    std::uint64_t external = 0;
    for (const Frame& frame : queue.frames)
        external += frame.external ? 1 : 0;
    EXPECT_EQ(c.zero_copy_packets, external);
}

TEST_F(SenderTest, CompletesAHeapOnlyWhenItsLastPacketWasTaken) {
    // Copied, nothing refers to the heap any more; still the packet has not gone.
    for (const ZeroCopy mode : {ZeroCopy::automatic, ZeroCopy::never}) {
        config.zero_copy = mode;
        bool open = false;
        queue.accept = [&](std::uint16_t n) { return open ? n : static_cast<std::uint16_t>(n - 1); };
        OutgoingHeap& h = heap(10'000);
        ASSERT_TRUE(sender().submit({.heap = &h, .user = &h}));
        for (int i = 0; i < 50; ++i) {
            poll();
            take_completions();
        }
        EXPECT_TRUE(completions.empty());
        EXPECT_FALSE(sender().idle());
        open = true;
        poll();
        take_completions();
        ASSERT_EQ(completions.size(), 1U);
        EXPECT_EQ(completions[0].user, &h);
        EXPECT_EQ(completions[0].heap, &h);
        EXPECT_EQ(completions[0].time, now);
        EXPECT_TRUE(sender().idle());
        finish();
        completions.clear();
        queue.taken = 0;
    }
}

TEST_F(SenderTest, GivesBackUnsentPacketsAndAbortsHeapsWhenStopped) {
    std::uint16_t left = 40;
    queue.accept = [&](std::uint16_t n) {
        const std::uint16_t take = std::min(n, left);
        left = static_cast<std::uint16_t>(left - take);
        return take;
    };
    for (std::size_t i = 0; i < 5; ++i)
        ASSERT_TRUE(sender().submit({&heap(30'000)}));  // 21 packets each
    for (int i = 0; i < 5; ++i)
        poll();
    EXPECT_EQ(queue.taken, 40U);
    sender().request_stop();
    EXPECT_TRUE(sender().stop_requested());
    ASSERT_TRUE(run());
    EXPECT_EQ(statuses(), (std::vector<SendStatus>{SendStatus::sent, SendStatus::aborted, SendStatus::aborted,
                                                   SendStatus::aborted, SendStatus::aborted}));
    EXPECT_EQ(sender().counters().heaps, 1U);
    EXPECT_EQ(sender().counters().aborted, 4U);
    EXPECT_GT(sender().counters().dropped, 0U);
    EXPECT_FALSE(sender().submit({&heap(100)})) << "a stopped sender takes nothing";
    EXPECT_EQ(sender().mbufs_out(), 0U);
}

/// Checks that packets that were cut to make the driver let go are not counted on afterwards.
TEST_F(SenderTest, CutsHeapsThatWaitAndFinishesThoseThatWereBegun) {
    config.capabilities.late_free_segments = 31;
    queue.keep = 31;
    std::uint16_t left = 30;
    queue.accept = [&](std::uint16_t n) {
        const std::uint16_t take = std::min(n, left);
        left = static_cast<std::uint16_t>(left - take);
        return take;
    };
    config.pacing = {1e6, 1000, 1.05};  // packet by packet
    for (std::size_t i = 0; i < 4; ++i)
        ASSERT_TRUE(sender().submit({&heap(30'000)}));  // 21 packets each
    const std::uint64_t packets = sender().backlog().all;
    EXPECT_EQ(packets, 4 * 21U);
    while (queue.taken < 25)
        sender().poll(now += 10'000'000);
    EXPECT_EQ(sender().backlog().all, packets - queue.taken);
    EXPECT_EQ(sender().backlog().begun, 2 * 21U - queue.taken);
    const std::uint64_t zero_copy = sender().counters().zero_copy_packets;
    EXPECT_GT(zero_copy, 0U);
    sender().request_cut(Cut::waiting);
    Submission late{&heap(30'000)};
    ASSERT_TRUE(sender().submit(late));
    Submission stop{&heap(100)};
    stop.control = true;
    stop.rate = 0;
    ASSERT_TRUE(sender().submit(stop));
    left = 1000;
    for (int i = 0; i < 40; ++i)
        sender().poll(now += 10'000'000);
    EXPECT_EQ(sender().counters().zero_copy_packets, zero_copy);
    queue.release();  // packets built before the cut are the driver's until its port stops
    ASSERT_TRUE(run());
    EXPECT_EQ(statuses(),
              (std::vector<SendStatus>{SendStatus::sent, SendStatus::sent, SendStatus::aborted,
                                       SendStatus::aborted, SendStatus::aborted, SendStatus::sent}));
    EXPECT_EQ(queue.taken, 2 * 21U + 1);
    EXPECT_EQ(sender().backlog().all, 0U);
    EXPECT_EQ(sender().counters().heaps, 2U);
    EXPECT_EQ(sender().counters().control_heaps, 1U);
    EXPECT_EQ(sender().counters().aborted, 3U);
}

TEST_F(SenderTest, CutsHeapsThatWereBegunAndSendsWhatIsBuilt) {
    std::uint16_t left = 10;
    queue.accept = [&](std::uint16_t n) {
        const std::uint16_t take = std::min(n, left);
        left = static_cast<std::uint16_t>(left - take);
        return take;
    };
    std::vector<Submission> group;
    for (std::size_t i = 0; i < 3; ++i)
        group.push_back({&heap(i == 1 ? 2'000 : 100'000)});
    ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
    poll();
    EXPECT_EQ(queue.taken, 10U);
    sender().request_cut(Cut::begun);
    Submission stop{&heap(100)};
    stop.control = true;
    ASSERT_TRUE(sender().submit(stop));
    left = 1000;
    ASSERT_TRUE(run());
    EXPECT_EQ(statuses(), (std::vector<SendStatus>{SendStatus::aborted, SendStatus::sent, SendStatus::aborted,
                                                   SendStatus::sent}));
    EXPECT_EQ(sender().counters().dropped, 0U);
    EXPECT_GT(queue.taken, 11U) << "the burst that was built";
    EXPECT_LT(queue.taken, 80U);
}

TEST_F(SenderTest, CutsOneHeapOfAGroupAndGoesOnWithTheOther) {
    config.pacing = {1e6, 1000, 1.05};
    Submission first{&heap(30'000)};
    Submission second{&heap(30'000)};
    second.control = true;
    const std::array<Submission, 2> group{first, second};
    ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
    while (queue.taken < 5)
        sender().poll(now += 10'000'000);
    sender().request_cut(Cut::begun);
    while (!sender().idle())
        sender().poll(now += 10'000'000);
    take_completions();
    EXPECT_EQ(statuses(), (std::vector<SendStatus>{SendStatus::aborted, SendStatus::sent}));
}

TEST_F(SenderTest, AbortsHeapsThatWereSubmittedButNeverSeen) {
    ASSERT_TRUE(sender().submit({&heap(100)}));
    sender().request_stop();
    ASSERT_TRUE(run());
    EXPECT_EQ(statuses(), (std::vector<SendStatus>{SendStatus::aborted}));
    EXPECT_EQ(queue.taken, 0U);
}

/// Gives up all heaps of a sender that waits for its time: the end of a run must not wait for it.
TEST_F(SenderTest, WaitsForNoTimeWhenAllWasGivenUp) {
    for (const bool stop : {false, true}) {
        config.pacing = {1000, 1000, 1};
        queue.keep = 100;
        for (int i = 0; i < 3; ++i)
            ASSERT_TRUE(sender().submit({&heap(30'000)}));
        poll();
        poll();
        ASSERT_GT(sender().next_send_time(), now);
        if (stop)
            sender().request_stop();
        else
            sender().request_cut(Cut::begun);
        poll();
        EXPECT_FALSE(sender().idle()) << "the driver keeps a packet";
        EXPECT_EQ(sender().next_send_time(), 0U);
        EXPECT_EQ(sender().backlog().all, 0U);
        finish();
        queue.taken = 0;
    }
}

TEST_F(SenderTest, MayBeDestroyedWithHeapsUnsent) {
    queue.accept = [](std::uint16_t) { return std::uint16_t{0}; };
    OutgoingHeap h;
    h.add_item(0x1000, memory.part(0, 100'000));
    {
        config.queue = queue.queue();
        Sender own(config);
        ASSERT_TRUE(own.submit({&h}));
        own.poll(1);
        EXPECT_GT(own.mbufs_out(), 0U);
    }
}

TEST_F(SenderTest, PacesAtTheRate) {
    config.pacing = {1e9, 14'400, 1.05};
    const double hz = static_cast<double>(rte_get_tsc_hz());
    for (int i = 0; i < 40; ++i)
        ASSERT_TRUE(sender().submit({&heap(100'000)}));
    const auto millisecond = static_cast<std::uint64_t>(hz / 1000);
    const std::uint64_t begin = now;
    std::uint64_t in_first = 0;
    for (std::uint64_t at = 0; at < 3 * millisecond; at += millisecond / 1000) {
        sender().poll(begin + at);
        if (at < millisecond)
            in_first = sender().counters().bytes;
    }
    EXPECT_NEAR(static_cast<double>(in_first), 1e6, 2 * 15'872.0);
    EXPECT_NEAR(static_cast<double>(sender().counters().bytes), 3e6, 2 * 15'872.0);
    EXPECT_GT(sender().next_send_time(), begin);
    EXPECT_LE(queue.most_in_a_burst, 10U) << "bursts end with the pacer's burst";
    sender().set_pacing({0, 65'536, 1.05});
    now = begin + 3 * millisecond;
    EXPECT_TRUE(run());
    EXPECT_EQ(sender().next_send_time(), 0U);
}

TEST_F(SenderTest, TimeWithoutHeapsIsNotMadeUpFor) {
    config.pacing = {1e9, 14'400, 1.25};
    const auto millisecond = rte_get_tsc_hz() / 1000;
    const auto bytes_in_a_millisecond = [&] {
        const std::uint64_t before = sender().counters().bytes;
        const std::uint64_t begin = now;
        for (; now < begin + millisecond; now += millisecond / 1000)
            sender().poll(now);
        return static_cast<double>(sender().counters().bytes - before);
    };
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(sender().submit({&heap(100'000)}));
        EXPECT_NEAR(bytes_in_a_millisecond(), 1e6, 4 * 15'872.0) << "round " << round;
        ASSERT_TRUE(run());
        now += 500 * millisecond;
    }
}

TEST_F(SenderTest, PacesAHeapAtItsOwnRate) {
    const double hz = static_cast<double>(rte_get_tsc_hz());
    const auto millisecond = static_cast<std::uint64_t>(hz / 1000);
    config.pacing.burst_size = 1472;
    ASSERT_TRUE(sender().submit({.heap = &heap(1'000'000), .rate = 1e9}));
    ASSERT_TRUE(sender().submit({&heap(1'000'000)}));
    for (std::uint64_t at = 0; at < millisecond / 2; at += millisecond / 1000)
        sender().poll(now + at);
    EXPECT_NEAR(static_cast<double>(sender().counters().bytes), 5e5, 2e4);
    now += 100 * millisecond;
    EXPECT_TRUE(run());
}

}  // namespace
}  // namespace spead::send::test
