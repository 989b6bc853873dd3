// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/latency_origin.hpp"

#include <deque>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

constexpr std::uint64_t kHz = 1'000'000'000;  // a cycle is a nanosecond

/// Simulates a wire and a far end that answers. The clock goes on by one step at a time.
struct Wire {
    std::uint64_t delay = 1000;  ///< there and back
    std::uint64_t closed_from = ~std::uint64_t{0};
    std::uint64_t closed_to = 0;  ///< meanwhile send() fails
    unsigned lose_every = 0;
    std::uint64_t now = 5'000'000;
    std::uint64_t sent = 0;

    struct Packet {
        std::uint64_t arrives, cnt, stamp;
    };
    std::deque<Packet> packets;

    bool send(std::uint64_t cnt, std::uint64_t stamp) {
        if (now >= closed_from && now < closed_to)
            return false;
        if (lose_every == 0 || ++sent % lose_every != 0)
            packets.push_back({now + delay, cnt, stamp});
        return true;
    }
    LatencyOrigin::Result run(LatencyOrigin::Options options, std::uint64_t step = 10) {
        options.hz = kHz;
        LatencyOrigin origin(options,
                             [this](std::uint64_t cnt, std::uint64_t stamp) { return send(cnt, stamp); });
        for (int i = 0; origin.step(now); i++) {
            now += step;
            while (!packets.empty() && packets.front().arrives <= now) {
                origin.reply(packets.front().cnt, packets.front().stamp, packets.front().arrives);
                packets.pop_front();
            }
            if (i > 10'000'000) {
                ADD_FAILURE() << "it does not end";
                break;
            }
        }
        return origin.result();
    }
};

LatencyOrigin::Options ping_pong() {
    LatencyOrigin::Options o;
    o.warm_up = 10'000;
    o.time = 100'000;
    o.patience = 50'000;
    return o;
}

LatencyOrigin::Options load(std::uint64_t interval) {
    LatencyOrigin::Options o = ping_pong();
    o.interval = interval;
    return o;
}

void expect_all_near(const LatencyOrigin::Result& r, std::uint64_t ns) {
    EXPECT_GE(r.nanoseconds.min(), ns);
    EXPECT_LE(r.nanoseconds.max(), ns + ns / 100);
}

TEST(LatencyOrigin, PingPongMeasuresTheDelayOfEveryHeapOnce) {
    Wire wire;
    const auto r = wire.run(ping_pong());
    EXPECT_EQ(r.sent, 100U) << "one at a time, 1000 ns each, for 100 us";
    EXPECT_EQ(r.warmed, 10U);
    EXPECT_EQ(r.lost(), 0U);
    EXPECT_EQ(r.nanoseconds.count(), 100U);
    expect_all_near(r, 1000);
}

TEST(LatencyOrigin, LoadSendsAtItsRateWhateverTheDelay) {
    Wire wire;
    wire.delay = 7000;
    const auto r = wire.run(load(200));
    EXPECT_EQ(r.sent, 500U) << "100 us, one every 200 ns";
    EXPECT_EQ(r.warmed, 50U);
    EXPECT_EQ(r.nanoseconds.count(), 500U) << "the last ones are waited for";
    expect_all_near(r, 7000);
}

TEST(LatencyOrigin, AStallCountsForEveryHeapThatItHoldsUp) {
    Wire wire;
    wire.closed_from = wire.now + 50'000;
    wire.closed_to = wire.closed_from + 20'000;
    const auto r = wire.run(load(1000));
    EXPECT_EQ(r.sent, 100U) << "heaps held up are sent afterwards";
    EXPECT_NEAR(static_cast<double>(r.nanoseconds.max()), 21'000, 100) << "due when the stall began";
    // 20 heaps were due meanwhile: 21 us, 20 us, ... 2 us.
    std::uint64_t late = 0;
    for (const auto& b : r.nanoseconds.buckets())
        late += b.lowest > 1500 ? b.count : 0;
    EXPECT_EQ(late, 20U);
    EXPECT_EQ(r.unsent, 0U);
}

TEST(LatencyOrigin, WhatIsNeverSentIsSaid) {
    Wire wire;
    wire.closed_from = wire.now + 60'000;
    wire.closed_to = ~std::uint64_t{0};
    const auto r = wire.run(load(1000));
    EXPECT_EQ(r.sent, 50U);
    EXPECT_EQ(r.unsent, 50U);
}

TEST(LatencyOrigin, LostHeapsAreCountedAndHoldUpNobodyForEver) {
    Wire wire;
    wire.lose_every = 5;
    const auto under_load = wire.run(load(1000));
    EXPECT_EQ(under_load.sent, 100U);
    EXPECT_EQ(under_load.lost(), 20U);
    expect_all_near(under_load, 1000);

    Wire other;
    other.lose_every = 5;
    const auto one_by_one = other.run(ping_pong());
    EXPECT_GT(one_by_one.lost(), 0U);
    EXPECT_EQ(one_by_one.sent, one_by_one.nanoseconds.count() + one_by_one.lost());
}

TEST(LatencyOrigin, AnswersThatNobodyAskedForAreNotMeasured) {
    LatencyOrigin::Options options = ping_pong();
    options.warm_up = 0;
    options.first = 100;
    options.hz = kHz;
    LatencyOrigin origin(options, [](std::uint64_t, std::uint64_t) { return true; });
    origin.reply(100, 0, 1000);  // before anything was sent
    ASSERT_TRUE(origin.step(5000));
    origin.reply(99, 5000, 5100);   // of an earlier row
    origin.reply(101, 5000, 5100);  // not sent yet
    origin.reply(100, 4999, 5100);  // stamped before the start
    origin.reply(100, 9000, 5100);  // stamped in the future
    EXPECT_EQ(origin.result().nanoseconds.count(), 0U);
    origin.reply(100, 5000, 5100);
    EXPECT_EQ(origin.result().nanoseconds.count(), 1U);
    EXPECT_EQ(origin.result().nanoseconds.max(), 100U);
    EXPECT_EQ(origin.next_count(), 101U);
}

TEST(LatencyOrigin, CyclesBecomeNanosecondsWithoutOverflow) {
    LatencyOrigin::Options options = ping_pong();
    options.warm_up = 0;
    options.time = ~std::uint64_t{0} >> 2;
    options.hz = 3'000'000'000;
    LatencyOrigin origin(options, [](std::uint64_t, std::uint64_t) { return true; });
    origin.step(0);
    origin.reply(1, 0, 3'000'000'000ULL * 600);  // ten minutes
    EXPECT_EQ(origin.result().nanoseconds.max(), 600'000'000'000U);
}

}  // namespace
}  // namespace spead::app
