// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"
#include "tests/support/heap_traffic.hpp"
#include "tests/support/sanitized.hpp"

/// Tests heaps of one packet that pass a window whose heaps go where others say.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

/// Places heaps anywhere, and refuses some.
class Anywhere final : public HeapPlacer {
  public:
    Answer begin(const PacketView& view, std::uint32_t) noexcept override { return answer(view); }
    void end(const Record&, std::uint32_t) noexcept override { ended++; }

    Answer answer(const PacketView& view) noexcept {
        if (view.key % 11 == 3)
            return {.outcome = rejected, .for_all = view.key % 2 == 0};
        return {.base = bytes_.data(), .length = view.heap_length == kUnknownLength ? 100 : view.heap_length};
    }

    std::uint64_t ended = 0;

  private:
    std::array<std::byte, 256> bytes_{};
};

/// Is a window of placed heaps, which lets some pass.
struct PlacedRig {
    explicit PlacedRig(const WindowConfig& c)
        : queue(1, Window::records_needed(c, 1)), window(c, placer, queue, counters) {}
    ~PlacedRig() {
        window.commit();
        window.flush(1);
        EXPECT_EQ(window.records_out(), 0U);
        EXPECT_EQ(counters.heaps_live, 0U);
        EXPECT_EQ(counters.heaps_waiting, 0U);
    }

    PacketOutcome give(const PacketView& v) {
        if (lets_pass && Window::is_whole(v) && window.may_pass(v) && placer.answer(v).outcome == placed) {
            window.pass(v);
            passed++;
            return placed;
        }
        if (const Record* const r = window.accept_next(v); r != nullptr)
            return placed;
        return window.accept(v).outcome;
    }
    bool passes(const Packet& p) {
        const std::uint64_t before = passed;
        EXPECT_EQ(give(p.view()), placed);
        return passed != before;
    }

    Anywhere placer;
    stats::StreamCounters counters;
    HeapQueue queue;
    Window window;
    bool lets_pass = true;
    std::uint64_t passed = 0;
};

TEST(WindowPass, CountsAHeapThatPasses) {
    PlacedRig rig(small_window());
    EXPECT_TRUE(rig.passes(Packet(1).whole(10).items({7})));
    EXPECT_EQ(rig.give(Packet(1).whole(10).view()), duplicate);
    rig.window.commit();
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
    EXPECT_EQ(rig.counters.heaps_pushed, 1U);
    EXPECT_EQ(rig.counters.bytes, 10U);
    EXPECT_EQ(rig.window.times().latency.count(), 1U);
    EXPECT_EQ(rig.placer.ended, 0U) << "who placed it knows";
}

TEST(WindowPass, LeavesEverythingUnusualToAccept) {
    const std::vector<std::uint64_t> many(Record::kInlineItems + 1, 9);
    for (const Packet& p :
         {Packet(1).whole(10).pointing_at(11), Packet(1).whole(10).items(many), Packet(1).whole(10).control(),
          Packet(1).whole(10).flavour(24), Packet(1).whole(0)}) {
        PlacedRig rig(small_window());
        EXPECT_FALSE(rig.window.may_pass(p.view()));
    }
    PlacedRig rig(small_window());
    rig.window.stop();
    EXPECT_FALSE(rig.window.may_pass(Packet(1).whole(10).view()));
}

TEST(WindowPass, LeavesAnOlderHeapInTheWayToAccept) {
    WindowConfig c = small_window();
    c.max_live = 2;
    PlacedRig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(10).at(0, 5).view()), placed);
    EXPECT_TRUE(rig.passes(Packet(2).whole(10)));
    EXPECT_FALSE(rig.passes(Packet(5).whole(10))) << "the first one is evicted";
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)], 1U);
    EXPECT_TRUE(rig.passes(Packet(6).whole(10)));
}

TEST(WindowPass, WithoutAHistoryACountMayComeAgain) {
    WindowConfig c = small_window();
    c.history = 0;
    PlacedRig rig(c);
    EXPECT_TRUE(rig.passes(Packet(1).whole(10)));
    EXPECT_TRUE(rig.passes(Packet(1).whole(10).flavour(24)));
    EXPECT_EQ(rig.give(Packet(2).of(10).at(0, 5).view()), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(10).view()), inconsistent) << "it is live";
}

/// Gives the same random packets to two windows, one of which lets none pass.
void compare_passing(std::uint64_t seed, std::uint64_t& passed) {
    std::mt19937_64 random(seed);
    WindowConfig c = small_window();
    c.guarded = random() % 4 != 0;
    c.in_order = random() % 4 == 0;
    c.substreams = 1 + static_cast<std::uint32_t>(random() % 2);
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 5);
    c.history = random() % 4 == 0 ? 0 : 64 + static_cast<std::uint32_t>(random() % 64);
    c.history_ticks = random() % 2 == 0 ? 0 : 50 + random() % 2000;
    c.timeout_ticks = random() % 2 == 0 ? 0 : 20 + random() % 200;
    Traffic::Settings t;
    t.senders = 1 + random() % 4;
    t.heaps = 200;
    t.longest_heap = 40 + random() % 60;
    t.hostile = random() % 2 == 0 ? 0 : 0.1;
    t.reordering = random() % 6;
    t.counts_collide = random() % 2 == 0;
    const Traffic traffic(t, seed);
    PlacedRig a(c);
    PlacedRig b(c);
    b.lets_pass = false;
    for (const Packet& p : traffic.packets()) {
        ASSERT_EQ(a.give(p.view()), b.give(p.view())) << "heap " << p.key();
        if (random() % 8 != 0)
            continue;
        for (PlacedRig* const rig : {&a, &b})
            rig->window.commit();
        if (random() % 4 == 0)
            for (PlacedRig* const rig : {&a, &b})
                rig->window.expire(p.view().arrival);
        ASSERT_EQ(a.counters.packets, b.counters.packets);
        ASSERT_EQ(a.counters.heaps_ended, b.counters.heaps_ended);
        ASSERT_EQ(a.counters.heaps_started, b.counters.heaps_started);
        ASSERT_EQ(a.counters.heaps_live, b.counters.heaps_live);
        ASSERT_EQ(a.counters.heaps_pushed, b.counters.heaps_pushed);
        ASSERT_EQ(a.counters.heaps_waiting, b.counters.heaps_waiting);
        ASSERT_EQ(a.counters.bytes, b.counters.bytes);
        ASSERT_EQ(a.window.records_out(), b.window.records_out());
        ASSERT_EQ(a.window.times().gap.count(), b.window.times().gap.count());
        ASSERT_EQ(a.window.times().latency.count(), b.window.times().latency.count());
    }
    passed += a.passed;
}

TEST(WindowPass, GivesWhatAcceptGives) {
    std::uint64_t passed = 0;
    for (std::uint64_t seed = 1; seed <= spead::test::cases(100); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        compare_passing(seed, passed);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(passed, spead::test::cases(1000));
}

}  // namespace
}  // namespace spead::heap::test
