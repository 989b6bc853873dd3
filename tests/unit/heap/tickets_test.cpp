// SPDX-License-Identifier: BSD-3-Clause
#include "heap/tickets.hpp"

#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace spead::heap::test {
namespace {

TEST(Tickets, AreOutUntilTheirBatchIsDone) {
    Tickets t;
    EXPECT_FALSE(t.any_out());
    const Tickets::Ticket none = t.none();
    const Tickets::Ticket first = t.take();
    EXPECT_EQ(t.take(), first) << "of one batch";
    const std::uint64_t one = t.close();
    const Tickets::Ticket second = t.take();
    EXPECT_TRUE(t.any_out());
    EXPECT_TRUE(t.is_out(first));
    EXPECT_TRUE(t.is_out(second));
    EXPECT_FALSE(t.is_out(none));
    t.done(one);
    EXPECT_FALSE(t.is_out(first));
    EXPECT_TRUE(t.is_out(second)) << "its batch is open";
    EXPECT_FALSE(t.is_out(none));
    t.done(t.close());
    EXPECT_FALSE(t.is_out(second));
    EXPECT_FALSE(t.any_out());
}

TEST(Tickets, OfAnEmptyBatchDoNotExist) {
    Tickets t;
    t.done(t.close());
    EXPECT_FALSE(t.any_out());
    const Tickets::Ticket first = t.take();
    EXPECT_TRUE(t.is_out(first));
    t.all_done();
    EXPECT_FALSE(t.is_out(first));
    t.all_done();
    EXPECT_FALSE(t.is_out(first));
    EXPECT_FALSE(t.any_out());
    EXPECT_TRUE(t.is_out(t.take())) << "of a batch after empty ones";
}

TEST(Tickets, ReportedLateOrTwiceChangeNothing) {
    Tickets t;
    t.take();
    const std::uint64_t one = t.close();
    t.take();
    const std::uint64_t two = t.close();
    t.done(two);
    t.done(one);
    EXPECT_FALSE(t.any_out());
}

// The numbers of tickets come round.
TEST(Tickets, ThatAreOutAreNeverMissedWhenNumbersComeRound) {
    std::mt19937_64 random(7);
    Tickets t;
    struct Out {
        std::uint64_t batch;
        Tickets::Ticket ticket;
    };
    std::deque<Out> out;
    const Tickets::Ticket old = t.take();
    t.all_done();
    std::uint64_t closed = 0;
    std::uint64_t false_alarms = 0;
    for (int i = 0; i < 300'000; i++) {
        const Tickets::Ticket ticket = t.take();
        closed = t.close();
        out.push_back({closed, ticket});
        if (out.size() > random() % 64) {
            const std::size_t left = random() % out.size();
            t.done(out[out.size() - 1 - left].batch);
            out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(left));
        }
        for (const Out& o : out)
            ASSERT_TRUE(t.is_out(o.ticket)) << "batch " << o.batch;
        false_alarms += t.is_out(old);
    }
    EXPECT_GT(false_alarms, 0U) << "the test is too short to see a number twice";
    EXPECT_LT(false_alarms, 300'000U / 65536 * 70);
    t.done(closed);
    EXPECT_FALSE(t.is_out(old));
}

TEST(Tickets, WithMoreBatchesInFlightThanNumbersAreAllOut) {
    Tickets t;
    const Tickets::Ticket first = t.take();
    for (int i = 0; i < 70'000; i++) {
        t.take();
        t.close();
    }
    EXPECT_TRUE(t.is_out(first));
    EXPECT_TRUE(t.is_out(t.none())) << "that cannot be told any more";
    t.done(t.close());
    EXPECT_FALSE(t.is_out(first));
}

}  // namespace
}  // namespace spead::heap::test
