// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_pair.hpp"
#include "tests/eal/app/bench/end.hpp"
#include "tests/support/fake_io.hpp"

/// Tests the counts of bench link, over a cable that loses packets.
namespace spead::app {
namespace {

using spead::test::FakeFaults;
using spead::test::FakeIo;
using test::End;
using test::kBack;
using test::kThere;

constexpr std::uint64_t kHeap = 4096;
/// Counts a heap's packets. The first carries the item pointer, and so 8 bytes less; the fifth carries those.
constexpr std::uint64_t kPackets = 5;

class Link : public testing::Test {
  protected:
    explicit Link(const FakeFaults& faults = {})
        : pool_(4095),
          there_(pool_.get(), faults),
          back_(pool_.get(), {}),
          near(kBack, kThere, back_.rx_queue(), there_.tx_queue(), plan(), false),
          far(kThere, kBack, there_.rx_queue(), back_.tx_queue(), plan(), false) {}
    ~Link() override {
        near.heaps.request_stop();
        turns(10);
        EXPECT_TRUE(near.heaps.done());
        there_.release();
    }

    static runtime::SendPlan plan() {
        runtime::SendPlan p;
        p.heap_size = kHeap;
        p.max_heaps = 4;
        p.max_packet_size = bench_packet_size(1024, kHeap, 1);
        return p;
    }
    void turns(int n) {
        for (int i = 0; i < n; i++) {
            now_ += 1000;
            near.turn(now_, nothing_);
            far.turn(now_, sink);
        }
    }
    /// Sends heaps from..to-1.
    void send(std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t cnt = from; cnt < to;)
            if (near.heaps.send(cnt, 0, nullptr))
                cnt++;
            else
                turns(1);
        turns(20);
    }

    const port::test::Pool pool_;
    FakeIo there_;
    FakeIo back_;
    runtime::NullSink nothing_;
    std::uint64_t now_ = 1'000'000;

  public:
    CountingSink sink;
    End near;
    End far;
};

TEST_F(Link, EveryHeapOfACleanCableArrives) {
    sink.begin(1);
    EXPECT_EQ(sink.complete(), 0U);
    send(1, 101);
    EXPECT_EQ(sink.complete(), 100U);
    EXPECT_EQ(sink.broken(), 0U);
    const BenchHeaps::Progress p = near.heaps.progress();
    EXPECT_EQ(p.completed, 100U);
    EXPECT_EQ(p.in_flight, 0U);
    EXPECT_EQ(p.last > 1'000'000 && p.last <= now_, true);
    EXPECT_EQ(there_.sent(), 100 * kPackets);
    EXPECT_EQ(near.heaps.packets_per_heap(), kPackets);
    EXPECT_EQ(near.heaps.bytes_per_heap(), kHeap + kPackets * 40 + 8);
}

TEST_F(Link, NoMoreThanThePlanAllowsAreInFlight) {
    sink.begin(1);
    for (std::uint64_t cnt = 1; cnt <= 4; cnt++)
        EXPECT_TRUE(near.heaps.send(cnt, 0, nullptr));
    EXPECT_FALSE(near.heaps.send(5, 0, nullptr));
    EXPECT_EQ(near.heaps.progress().in_flight, 4U);
    turns(20);
    EXPECT_TRUE(near.heaps.send(5, 0, nullptr));
    turns(20);
}

TEST_F(Link, HeapsOfAnEarlierTrialAreNotCounted) {
    sink.begin(1);
    send(1, 11);
    sink.begin(21);
    EXPECT_EQ(sink.complete(), 0U) << "at once, though nothing has come";
    send(11, 21);  // late ones of before
    EXPECT_EQ(sink.complete(), 0U);
    send(21, 31);
    EXPECT_EQ(sink.complete(), 10U);
}

TEST_F(Link, NothingIsSentOnceTheRunEnds) {
    EXPECT_FALSE(near.heaps.done()) << "a benchmark that does not send now may later";
    near.heaps.request_stop();
    EXPECT_FALSE(near.heaps.send(1, 0, nullptr));
    EXPECT_TRUE(near.heaps.stopping());
    EXPECT_TRUE(near.heaps.done());
}

class LossyLink : public Link {
  protected:
    LossyLink() : Link(faults()) {}
    static FakeFaults faults() {
        FakeFaults f;
        f.drop_every = 100;
        return f;
    }
};

TEST_F(LossyLink, AHeapThatLacksAPacketIsMissing) {
    sink.begin(1);
    send(1, 101);
    EXPECT_EQ(there_.dropped(), 5U) << "one of every twentieth heap";
    EXPECT_EQ(sink.complete(), 95U);
}

}  // namespace
}  // namespace spead::app
