// SPDX-License-Identifier: BSD-3-Clause
// Drivers that give memory back late, in pieces, or from another thread.
#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <random>
#include <sched.h>
#include <thread>

#include <rte_ring.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

using testing::Each;

constexpr std::uint16_t kLate = 31;

class LateFree : public SenderTest {
  protected:
    LateFree() {
        config.capabilities.late_free_segments = kLate;
        queue.keep = kLate;
    }
};

TEST_F(LateFree, AHeapCompletesAlthoughTheDriverKeepsTheLastSegments) {
    OutgoingHeap& h = heap(200'000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run()) << "the driver's habit must not keep the heap open";
    EXPECT_EQ(payloads(), expected(h, 1));
    EXPECT_EQ(queue.held(), kLate);
    EXPECT_EQ(sender().counters().copied_packets, kLate) << "no more than necessary is copied";
    EXPECT_THAT(statuses(), Each(SendStatus::sent));
}

TEST_F(LateFree, OnlyTheTailBeforeAnIdleTimeIsCopied) {
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(sender().submit({&heap(50 * 1432 - 8)}));
    ASSERT_TRUE(run());
    EXPECT_EQ(sender().counters().copied_packets, kLate);
    EXPECT_EQ(sender().counters().zero_copy_packets, 20 * 50U - kLate);
}

TEST_F(LateFree, HeapsOfOnePacketNeverDeadlock) {
    config.max_heaps = 4;
    OutgoingHeap& h = heap(1000);
    std::size_t submitted = 0;
    for (int i = 0; i < 10'000 && submitted < 500; ++i) {
        if (sender().submit({&h}))
            ++submitted;
        poll();
        take_completions();
    }
    EXPECT_EQ(submitted, 500U);
    ASSERT_TRUE(run());
    EXPECT_EQ(completions.size(), 500U);
}

TEST_F(LateFree, HeapsOfOnePacketAreSentAsTheyLieWhenEnoughAreQueued) {
    OutgoingHeap& h = heap(1000);
    for (int i = 0; i < 64; ++i)
        ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(sender().counters().zero_copy_packets, 64U - kLate);
}

TEST_F(LateFree, RandomHeapsAlwaysCompleteAndArriveWhole) {
    std::mt19937_64 random(7);
    config.max_packet_size = 512;
    config.max_heaps = 16;
    std::vector<Bytes> all;
    std::uint64_t cnt = 0;
    queue.accept = [&](std::uint16_t n) { return static_cast<std::uint16_t>(random() % (n + 1U)); };
    for (int round = 0; round < 300; ++round) {
        std::vector<Submission> group;
        const std::size_t n = 1 + random() % 5;
        for (std::size_t i = 0; i < n; ++i)
            group.push_back({.heap = &heap(random() % 40'000, random() % 1'000'000)});
        const bool serial = n == 1 || random() % 2 == 0;
        while (!sender().submit(group, serial ? Interleave::serial : Interleave::round_robin)) {
            poll();
            take_completions();
        }
        for (const Submission& one : group) {
            ++cnt;
            for (Bytes& b : expected(*one.heap, cnt))
                all.push_back(std::move(b));
        }
        if (random() % 4 == 0) {
            ASSERT_TRUE(run()) << "round " << round;
        }
    }
    ASSERT_TRUE(run());
    // Interleaving changes the order between heaps, not within one.
    std::vector<Bytes> sent = payloads();
    std::stable_sort(sent.begin(), sent.end(),
                     [](const Bytes& a, const Bytes& b) { return cnt_of(a) < cnt_of(b); });
    EXPECT_EQ(sent, all);
    EXPECT_GT(sender().counters().zero_copy_packets, 100U);
}

TEST_F(LateFree, AHeapOfMorePacketsThanAReferenceCountHolds) {
    config.max_packet_size = 56;
    config.zero_copy = ZeroCopy::always;
    OutgoingHeap& h = heap(200'000 * 16);
    std::uint64_t wrong = 0, offset = 0;
    queue.look = [&](const rte_mbuf& m) {
        const Frame frame = frame_of(m);
        const Bytes payload = frame.payload();
        wrong += (load_be64(payload.data() + 24) & 0xFFFFFFFFFFFF) == offset ? 0 : 1;
        const std::uint64_t length = load_be64(payload.data() + 32) & 0xFFFFFFFFFFFF;
        const auto* const data = reinterpret_cast<const std::uint8_t*>(memory.part(offset, length).data());
        wrong += std::equal(data, data + length, payload.end() - static_cast<std::ptrdiff_t>(length)) ? 0 : 1;
        offset += length;
    };
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(offset, 200'000 * 16U);
    EXPECT_EQ(wrong, 0U);
    EXPECT_GT(sender().counters().zero_copy_packets, 3 * 65'536U);
    EXPECT_EQ(sender().counters().stalls, 0U);
}

TEST_F(LateFree, StallsWhileEveryReferenceIsOutAndGoesOnWhenSomeComeBack) {
    config.max_packet_size = 56;
    config.zero_copy = ZeroCopy::always;
    config.tx_descriptors = 65'535;
    config.capabilities.late_free_segments = 0;
    queue.keep = SIZE_MAX;
    queue.look = [](const rte_mbuf&) {};
    OutgoingHeap& h = heap(70'000 * 16);
    ASSERT_TRUE(sender().submit({&h}));
    EXPECT_FALSE(run(3000));
    const std::uint64_t sent = sender().counters().packets;
    EXPECT_GE(sent, 2 * 32'736U);
    EXPECT_LT(sent, 65'536U);
    EXPECT_GT(sender().counters().stalls, 0U);
    EXPECT_GT(queue.reaps, 0U) << "the driver must be asked for what it keeps";
    queue.release();
    EXPECT_FALSE(run(3000)) << "all sent, but the rest is still with the driver";
    EXPECT_EQ(sender().counters().packets, h.layout(56, &regions).packets);
    queue.release();
    EXPECT_TRUE(run());
}

TEST_F(LateFree, StallsWithoutMbufsAndGoesOnWhenTheyComeBack) {
    config.tx_descriptors = 64;
    config.capabilities.late_free_segments = 0;
    queue.keep = SIZE_MAX;
    OutgoingHeap& h = heap(2'000'000);
    ASSERT_TRUE(sender().submit({&h}));
    int releases = 0;
    while (!run(100) && releases < 20) {
        queue.release();
        ++releases;
    }
    EXPECT_TRUE(sender().idle());
    EXPECT_GE(releases, 2);
    EXPECT_GT(sender().counters().stalls, 0U);
    EXPECT_EQ(payloads(), expected(h, 1));
}

TEST_F(LateFree, AnAbandonedHeapStaysInFlightUntilTheDriverGivesItsMemoryBack) {
    std::uint16_t left = 50;
    queue.accept = [&](std::uint16_t n) {
        const std::uint16_t take = std::min(n, left);
        left = static_cast<std::uint16_t>(left - take);
        return take;
    };
    OutgoingHeap& h = heap(1'000'000);
    OutgoingHeap& next = heap(1000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(sender().submit({&next}));
    for (int i = 0; i < 5; ++i)
        poll();
    sender().request_stop();
    EXPECT_FALSE(run(10)) << "the driver still reads from the heap";
    EXPECT_TRUE(completions.empty());
    EXPECT_TRUE(h.in_flight());
    EXPECT_EQ(queue.taken, 50U);
    queue.release();  // the port was stopped
    EXPECT_TRUE(sender().collect(++now));
    take_completions();
    EXPECT_THAT(statuses(), testing::ElementsAre(SendStatus::aborted, SendStatus::aborted));
    EXPECT_FALSE(h.in_flight());
    EXPECT_TRUE(sender().idle());
}

TEST_F(LateFree, StoppingAtAnyMomentLosesNoMbufAndNoCompletion) {
    for (std::uint64_t limit = 0; limit < 120; limit += 7) {
        SCOPED_TRACE(limit);
        queue.accept = [&](std::uint16_t n) {
            return static_cast<std::uint16_t>(
                std::min<std::uint64_t>(n, limit - std::min(limit, queue.taken)));
        };
        const std::array<Submission, 3> group{Submission{.heap = &heap(40'000)},
                                              Submission{.heap = &heap(1'000)},
                                              Submission{.heap = &heap(60'000)}};
        ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
        for (int i = 0; i < 4; ++i)
            poll();
        sender().request_stop();
        poll();
        finish();
        ASSERT_EQ(completions.size(), 3U);
        completions.clear();
        queue.taken = 0;
        queue.frames.clear();
    }
}

/// Frees in a thread of its own what the queue took, some time later.
class FreeingThread {
  public:
    FreeingThread() {
        ring_ = rte_ring_create("freeing", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        thread_ = std::thread([this] {
            std::array<void*, 16> mbufs{};
            for (;;) {
                const bool last = stop_.load(std::memory_order_acquire);
                const unsigned n = rte_ring_dequeue_burst(ring_, mbufs.data(), mbufs.size(), nullptr);
                for (unsigned i = 0; i < n; ++i)
                    rte_pktmbuf_free(static_cast<rte_mbuf*>(mbufs[i]));
                if (n == 0) {
                    if (last)
                        return;
                    sched_yield();
                }
            }
        });
    }
    ~FreeingThread() {
        stop_.store(true, std::memory_order_release);
        thread_.join();
        rte_ring_free(ring_);
    }
    FreeingThread(const FreeingThread&) = delete;
    FreeingThread& operator=(const FreeingThread&) = delete;

    port::TxQueue queue() {
        return {[](void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t n) {
                    auto& me = *static_cast<FreeingThread*>(self);
                    return static_cast<std::uint16_t>(
                        rte_ring_enqueue_burst(me.ring_, reinterpret_cast<void**>(mbufs), n, nullptr));
                },
                nullptr, this, 0};
    }

  private:
    rte_ring* ring_ = nullptr;
    std::thread thread_;
    std::atomic<bool> stop_{false};
};

TEST_F(SenderTest, MemoryMayBeGivenBackByAnotherThread) {
    config.max_heaps = 8;
    config.max_packet_size = 256;
    std::size_t done = 0;
    {
        FreeingThread thread;
        config.queue = thread.queue();
        Sender s(config);
        OutgoingHeap& h = heap(100'000);
        std::array<Completion, 8> some;
        for (std::size_t submitted = 0; done < 300;) {
            if (submitted < 300 && s.submit({&h}))
                ++submitted;
            if (!s.poll(++now))
                sched_yield();
            done += s.poll_completions(some);
        }
        EXPECT_TRUE(s.idle());
        EXPECT_GT(s.counters().zero_copy_packets, 0U);
        while (s.mbufs_out() != 0)
            sched_yield();
    }
    EXPECT_EQ(done, 300U);
}

}  // namespace
}  // namespace spead::send::test
