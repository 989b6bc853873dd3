// SPDX-License-Identifier: BSD-3-Clause
// Heaps of one packet, which take no turn and use the references of their own.
#include <deque>
#include <random>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

class WholeHeaps : public LimitedPortTest {
  protected:
    WholeHeaps() { config.destinations = {group(0), group(1), group(2)}; }

    /// Submits a group of heaps and notes their packets in the order in which they must be sent.
    bool submit(std::span<const Submission> heaps_of_group, Interleave mode) {
        if (!sender().submit(heaps_of_group, mode))
            return false;
        std::deque<std::deque<Bytes>> turns;
        for (const Submission& one : heaps_of_group) {
            const std::vector<Bytes> packets = expected(*one.heap, next_cnt++);
            turns.emplace_back(packets.begin(), packets.end());
        }
        while (!turns.empty()) {
            in_order.push_back(turns.front().front());
            turns.front().pop_front();
            if (!turns.front().empty() && mode == Interleave::round_robin)
                turns.push_back(turns.front());
            if (turns.front().empty() || mode == Interleave::round_robin)
                turns.pop_front();
        }
        return true;
    }

    std::uint64_t next_cnt = 1;
    std::vector<Bytes> in_order;
};

/// Sends any mix of heaps of one packet and of more, of few and many items, to a port that takes any part of
/// a burst and frees late.
TEST_F(WholeHeaps, AnyMixIsSentInTheOrderOfTurns) {
    std::mt19937 random(11);
    config.zero_copy = ZeroCopy::automatic;
    config.max_heaps = 16;
    for (int i = 0; i < 48; ++i) {
        constexpr std::array<std::size_t, 6> kSizes{1, 8, 120, 1000, 1424, 5000};
        OutgoingHeap& h = heap(kSizes[random() % kSizes.size()], 4096U * static_cast<unsigned>(i));
        for (std::uint64_t item = random() % 3 == 0 ? random() % 20 : 0; item != 0; --item)
            h.add_immediate(0x1600 + item, item);
    }
    for (int i = 0; i < 3'000; ++i) {
        std::vector<Submission> some;
        for (std::size_t n = 1 + random() % 6; n != 0; --n) {
            Submission one{&heaps[random() % heaps.size()]};
            one.substream = static_cast<std::uint32_t>(random() % 3);
            some.push_back(one);
        }
        submit(some, random() % 2 == 0 ? Interleave::serial : Interleave::round_robin);
        takes = static_cast<std::uint16_t>(random() % 40);
        queue.keep = random() % 50;
        poll();
        take_completions();
    }
    takes = 60'000;
    queue.keep = 0;
    queue.release();
    ASSERT_TRUE(run());
    EXPECT_EQ(completions.size(), next_cnt - 1);
    for (std::size_t i = 0; i < completions.size(); ++i)
        ASSERT_EQ(completions[i].cnt, i + 1) << "completions are in order";
    ASSERT_EQ(payloads(), in_order);
    EXPECT_EQ(sender().counters().heaps, next_cnt - 1);
    EXPECT_GT(sender().counters().zero_copy_packets, 0U);
    EXPECT_GT(sender().counters().copied_packets, 0U);
}

TEST_F(WholeHeaps, MemoryComesBackWhenTheDriverHasFreedIt) {
    queue.keep = 4;  // two packets of headers and payload
    takes = 100;
    for (std::size_t i = 0; i < 3; ++i)
        ASSERT_TRUE(sender().submit({&heap(1000, 4096 * i)}));
    poll();
    take_completions();
    EXPECT_EQ(queue.taken, 3U);
    ASSERT_EQ(completions.size(), 1U);
    EXPECT_EQ(completions[0].heap, &heaps[0]);
    EXPECT_FALSE(heaps[0].in_flight());
    EXPECT_TRUE(heaps[1].in_flight());
    queue.release();
    sender().collect(++now);
    take_completions();
    EXPECT_EQ(completions.size(), 3U);
}

/// Gives up a heap that the pacer holds back, and one whose packet the port did not take.
TEST_F(WholeHeaps, TimeOutAsOthersDo) {
    config.timeout_ticks = kTimeout;
    config.pacing = {1e-3, 1, 1};
    takes = 0;
    for (std::size_t i = 0; i < 3; ++i)
        ASSERT_TRUE(sender().submit({&heap(1000, 4096 * i)}));
    poll();
    EXPECT_EQ(sender().backlog().all, 3U);
    sender().poll(clock_now = now = kTimeout + 2);
    take_completions();
    EXPECT_EQ(statuses(), std::vector<SendStatus>(3, SendStatus::timed_out));
    EXPECT_EQ(sender().backlog().all, 0U);
    EXPECT_EQ(sender().counters().dropped, 1U) << "built, and not taken";
}

TEST_F(WholeHeaps, FollowChangesOfHeaders) {
    takes = 100;
    OutgoingHeap& h = heap(1000);
    ASSERT_TRUE(sender().submit({&h}));
    poll();
    sender().set_ttl_dscp(7, 46);
    sender().set_mac(0, {2, 3, 4, 5, 6, 7});
    ASSERT_TRUE(sender().submit({&h}));
    poll();
    ASSERT_EQ(queue.frames.size(), 2U);
    EXPECT_EQ(queue.frames[0].ip().time_to_live, 1);
    EXPECT_EQ(queue.frames[1].ip().time_to_live, 7);
    EXPECT_EQ(queue.frames[1].ip().type_of_service, 46 << 2);
    EXPECT_EQ(rte_ipv4_cksum(&queue.frames[1].ip()), 0) << "its own sum included";
    EXPECT_EQ(queue.frames[1].bytes[5], 7);
}

/// Changes what lies behind an item between two submissions, which lays the heap out anew.
TEST_F(WholeHeaps, GrowIntoHeapsOfSeveralPacketsAndBack) {
    takes = 100;
    OutgoingHeap h(wire::Flavour(48));
    const OutgoingHeap::Handle item = h.add_item(0x1600, memory.part(0, 1000));
    for (const std::size_t bytes : {1000U, 5000U, 500U, 3000U}) {
        h.set_item(item, memory.part(64, bytes));
        const Submission one{&h};
        ASSERT_TRUE(submit(std::span(&one, 1), Interleave::serial));
        ASSERT_TRUE(run());
    }
    EXPECT_EQ(payloads(), in_order);
}

}  // namespace
}  // namespace spead::send::test
