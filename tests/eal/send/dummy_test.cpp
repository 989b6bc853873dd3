// SPDX-License-Identifier: BSD-3-Clause
// Dummy sends: what they build goes back, nothing leaves, and what comes next is what it would have been.
#include <gmock/gmock.h>

#include <rte_cycles.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

class Dummies : public SenderTest {};

TEST_F(Dummies, LeaveNothingOnTheWireAndNothingBehind) {
    const DummyResult r = sender().dummy(1000);
    EXPECT_EQ(r.packets, 1000U);
    EXPECT_FALSE(r.of_heap);
    EXPECT_TRUE(r.driver);
    EXPECT_EQ(r.why_not, nullptr);
    EXPECT_EQ(queue.taken, 0U);
    EXPECT_EQ(queue.bursts, 0U);
    EXPECT_EQ(queue.reaps, 1U);
    EXPECT_EQ(sender().mbufs_out(), 0U);
    const stats::SendCounters& c = sender().counters();
    EXPECT_EQ(c.dummy_packets, 1000U);
    EXPECT_EQ(c.packets + c.bytes + c.frame_bytes + c.heaps + c.zero_copy_packets + c.copied_packets +
                  c.stalls + c.tx_full + c.unregistered_packets,
              0U);
}

TEST_F(Dummies, LeaveTheNextHeapsByteForByteRight) {
    for (const ZeroCopy mode : {ZeroCopy::automatic, ZeroCopy::never})
        for (const bool checksum : {false, true}) {
            finish();
            config.zero_copy = mode;
            config.udp_checksum = checksum;
            queue.frames.clear();
            OutgoingHeap& h = heap(100'000);
            sender().dummy(100);
            ASSERT_TRUE(sender().submit({&h}));
            sender().dummy(7);
            ASSERT_TRUE(run());
            sender().dummy(100);
            EXPECT_EQ(payloads(), expected(h, config.first_cnt));
            EXPECT_EQ(sender().counters().packets, queue.frames.size());
            finish();
            queue.taken = 0;
        }
}

TEST_F(Dummies, AreMadeOfTheHeapAtHandWhereThereIsOne) {
    config.pacing = {.rate = 1e6, .burst_size = 1472 * 4, .burst_rate_ratio = 1.05};
    OutgoingHeap& h = heap(1432 * 60);
    ASSERT_TRUE(sender().submit({&h}));
    poll();
    poll();
    const std::size_t sent = queue.frames.size();
    ASSERT_GT(sent, 0U);
    const std::uint64_t next = sender().next_send_time();
    const DummyResult r = sender().dummy(500);  // more than the heap has left
    EXPECT_TRUE(r.of_heap);
    EXPECT_EQ(r.packets, 500U);
    EXPECT_EQ(sender().next_send_time(), next) << "the pacer did not notice";
    EXPECT_EQ(queue.frames.size(), sent);
    for (int i = 0; i < 1'000'000 && !sender().idle(); i++) {
        now = std::max(now, sender().next_send_time());
        poll();
        take_completions();
    }
    EXPECT_EQ(payloads(), expected(h, 1));
}

TEST_F(Dummies, AreMadeOfAHeapOfOnePacketThatWaitsForThePacer) {
    config.pacing = {.rate = 1e6, .burst_size = 1472 * 4, .burst_rate_ratio = 1.05};
    std::vector<OutgoingHeap*> waiting;
    for (int i = 0; i < 12; i++)
        waiting.push_back(&heap(1000));
    for (OutgoingHeap* const h : waiting)
        ASSERT_TRUE(sender().submit({h}));
    poll();
    poll();
    const std::size_t sent = queue.frames.size();
    ASSERT_GT(sent, 0U);
    ASSERT_LT(sent, waiting.size());
    const DummyResult r = sender().dummy(50);
    EXPECT_TRUE(r.of_heap);
    EXPECT_EQ(r.packets, 50U);
    EXPECT_EQ(queue.frames.size(), sent);
    for (int i = 0; i < 1'000'000 && !sender().idle(); i++) {
        now = std::max(now, sender().next_send_time());
        poll();
        take_completions();
    }
    EXPECT_EQ(queue.frames.size(), waiting.size());
}

TEST_F(Dummies, SayWhyThereAreNone) {
    sender().request_stop();
    const DummyResult r = sender().dummy(10);
    EXPECT_EQ(r.packets, 0U);
    EXPECT_THAT(r.why_not, testing::HasSubstr("stopped"));
    EXPECT_EQ(queue.reaps, 0U);
}

TEST_F(Dummies, SayThatADriverCannotBeWarmed) {
    sender();
    finish();
    struct NoReap : FakeQueue {
        port::TxQueue plain() {
            port::TxQueue q = queue();
            q.reap = nullptr;
            return q;
        }
    } other;
    config.queue = other.plain();
    Sender without(config);
    const DummyResult r = without.dummy(10);
    EXPECT_EQ(r.packets, 10U);
    EXPECT_FALSE(r.driver);
}

}  // namespace
}  // namespace spead::send::test
