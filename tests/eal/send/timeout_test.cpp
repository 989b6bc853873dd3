// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <gmock/gmock.h>

#include "tests/eal/send/rig.hpp"

/// Tests heaps that cannot be sent in time: they are completed with that error, and others are not touched.
namespace spead::send::test {

namespace {

using testing::ElementsAre;

class TimeoutTest : public LimitedPortTest {
  protected:
    TimeoutTest() { config.timeout_ticks = kTimeout; }
    void poll_at(std::uint64_t time) { sender().poll(clock_now = now = time); }
    void submit(OutgoingHeap& h, bool control = false) {
        Submission s{&h};
        s.control = control;
        ASSERT_TRUE(sender().submit(s));
    }
    std::vector<SendStatus> taken() {
        completions.clear();
        take_completions();
        return statuses();
    }
};

TEST_F(TimeoutTest, AHeapThatThePortDoesNotTakeIsGivenUpInTime) {
    submit(heap(10'000));
    poll_at(kTimeout);
    EXPECT_THAT(taken(), testing::IsEmpty()) << "not a tick before";
    poll_at(kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out));
    EXPECT_EQ(sender().counters().timed_out, 1U);
    EXPECT_EQ(sender().counters().aborted, 0U);
    EXPECT_EQ(sender().counters().packets, 0U);
    EXPECT_EQ(sender().counters().dropped, 7U) << "what was built for the port";
    EXPECT_EQ(sender().backlog().all, 0U);
    EXPECT_TRUE(sender().idle());
}

TEST_F(TimeoutTest, WhatIsSubmittedAfterwardsIsSentWhenThePortTakesPacketsAgain) {
    submit(heap(10'000));
    poll_at(kTimeout + 1);
    takes = 1000;
    OutgoingHeap& next = heap(10'000, 64);
    submit(next);
    poll_at(kTimeout + 2);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out, SendStatus::sent));
    EXPECT_EQ(payloads(), expected(next, 2)) << "and nothing of the first one";
}

TEST_F(TimeoutTest, AHeapThatIsPartlySentIsGivenUpToo) {
    takes = 3;
    submit(heap(10'000));
    poll_at(5);
    EXPECT_EQ(queue.taken, 3U);
    poll_at(kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out));
    EXPECT_EQ(sender().counters().packets, 3U);
    EXPECT_EQ(sender().backlog().all, 0U);
}

TEST_F(TimeoutTest, HeapsOfLaterSubmissionHaveTheirOwnTime) {
    submit(heap(10'000));
    clock_now = 500'000;
    OutgoingHeap& second = heap(10'000, 64);
    submit(second);
    poll_at(kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out));
    takes = 1000;
    poll_at(kTimeout + 2);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::sent));
    EXPECT_EQ(payloads(), expected(second, 2)) << "frames built before the first was given up are whole";
}

TEST_F(TimeoutTest, RecalledHeapsAreGivenUpAndLaterOnesAreSent) {
    takes = 3;
    submit(heap(10'000));
    poll_at(5);
    EXPECT_EQ(queue.taken, 3U);
    OutgoingHeap& stop = heap(100, 64);
    submit(heap(10'000));
    submit(stop, true);
    sender().request_recall();
    poll_at(6);
    takes = 1000;
    OutgoingHeap& next = heap(10'000, 128);
    submit(next);
    poll_at(7);
    EXPECT_THAT(taken(),
                ElementsAre(SendStatus::aborted, SendStatus::aborted, SendStatus::sent, SendStatus::sent));
    std::vector<Bytes> last = expected(stop, 3);
    for (const Bytes& packet : expected(next, 4))
        last.push_back(packet);
    const auto all = payloads();
    EXPECT_EQ(std::vector<Bytes>(all.end() - static_cast<std::ptrdiff_t>(last.size()), all.end()), last);
    EXPECT_EQ(all.size(), 3 + last.size()) << "3 packets were taken before";
    EXPECT_EQ(sender().counters().aborted, 2U);
    EXPECT_EQ(sender().backlog().all, 0U);
}

TEST_F(TimeoutTest, ControlHeapsWaitAsLongAsItTakes) {
    submit(heap(3'000));
    OutgoingHeap& stop = heap(100, 64);
    submit(stop, true);
    submit(heap(3'000));
    poll_at(10 * kTimeout);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out));
    takes = 1000;
    poll_at(10 * kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::sent, SendStatus::timed_out));
    EXPECT_EQ(payloads(), expected(stop, 2));
    EXPECT_EQ(sender().counters().control_heaps, 1U);
    EXPECT_EQ(sender().counters().timed_out, 2U);
}

TEST_F(TimeoutTest, OneOfAnInterleavedGroupGoesOnWhenTheOtherIsGivenUp) {
    takes = 5;
    OutgoingHeap& stop = heap(10'000, 64);
    Submission first{&heap(10'000)};
    Submission second{&stop};
    second.control = true;
    const std::array<Submission, 2> group{first, second};
    ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
    poll_at(5);
    poll_at(kTimeout + 1);
    takes = 1000;
    poll_at(kTimeout + 2);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out, SendStatus::sent));
    std::vector<Bytes> of_second;
    for (const Bytes& p : payloads())
        if (cnt_of(p) == 2)
            of_second.push_back(p);
    EXPECT_EQ(of_second, expected(stop, 2)) << "each packet once, in order";
    EXPECT_EQ(sender().backlog().all, 0U);
}

TEST_F(TimeoutTest, HeapsThatTheRateDoesNotLetThroughAreGivenUp) {
    config.pacing = {1000, 1, 1};  // a packet takes a second and a half
    takes = 1000;
    for (int i = 0; i < 3; i++)
        submit(heap(10'000));
    poll_at(2);
    poll_at(kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::timed_out, SendStatus::timed_out, SendStatus::timed_out));
    EXPECT_TRUE(sender().idle());
}

TEST_F(TimeoutTest, AHeapThatTheDriverHasWhollyIsSentHoweverLongItKeepsIt) {
    queue.keep = 100;
    takes = 1000;
    submit(heap(10'000));
    poll_at(2);
    poll_at(10 * kTimeout);
    EXPECT_THAT(taken(), testing::IsEmpty());
    queue.release();
    poll_at(10 * kTimeout + 1);
    EXPECT_THAT(taken(), ElementsAre(SendStatus::sent));
}

TEST_F(TimeoutTest, ManyHeapsInAndOutOfTimeAllAddUp) {
    config.max_heaps = 16;
    std::uint64_t submitted = 0;
    for (std::uint64_t round = 1; round < 400; round++) {
        takes = static_cast<std::uint16_t>(round % 7 == 0 ? 40 : round % 3);
        while (sender().free_heaps() != 0) {
            submit(heap(1 + round * 37 % 9000), submitted % 11 == 0);
            submitted++;
        }
        poll_at(round * 100'000);
        take_completions();
    }
    takes = 60'000;
    queue.accept = [](std::uint16_t n) { return n; };
    ASSERT_TRUE(run());
    const stats::SendCounters& c = sender().counters();
    EXPECT_EQ(c.heaps + c.control_heaps + c.timed_out, submitted);
    EXPECT_EQ(completions.size(), submitted);
    EXPECT_GT(c.timed_out, 0U);
    EXPECT_GT(c.heaps, 0U);
    EXPECT_EQ(sender().backlog().all, 0U);
}

}  // namespace
}  // namespace spead::send::test
