// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/heap_model.hpp"
#include "tests/support/heap_rig.hpp"
#include "tests/support/heap_traffic.hpp"
#include "tests/support/late_engine.hpp"
#include "tests/support/sanitized.hpp"

/// Tests a window whose payload an engine copies, late and out of step with it. The engine asserts that no
/// memory is used again while a copy into it is to come.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;
using Counts = std::vector<std::uint64_t>;

TEST(WindowLateCopies, AHeapIsHandedOverWhenItsOwnCopiesAreMade) {
    LateEngine engine;
    Rig rig(small_window());
    rig.copied_by(engine);
    for (std::uint64_t k = 1; k <= 3; k++) {
        EXPECT_EQ(rig.give(Packet(k).whole(100)), placed);
        engine.close();
    }
    EXPECT_EQ(rig.queued(), 0U);
    engine.work(1);
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), Counts{1}) << "although copies of others are still to come";
    EXPECT_TRUE(rig.window().has_ended());
    EXPECT_EQ(rig.give(Packet(4).whole(100)), placed);
    engine.work(1);
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), Counts{2});
    engine.finish();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), (Counts{3, 4}));
}

TEST(WindowLateCopies, AHeapWaitsForThoseThatEndedBeforeIt) {
    LateEngine engine;
    Rig rig(small_window());
    rig.copied_by(engine);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    engine.close();
    engine.work(1);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), placed);
    engine.close();
    rig.flush();
    EXPECT_EQ(rig.queued(), 0U) << "heap 1 has its copies, but ended later";
    engine.work(1);
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), (Counts{2, 1}));
}

TEST(WindowLateCopies, AHeapWithoutPayloadWaitsForNone) {
    LateEngine engine;
    Rig rig(small_window());
    rig.copied_by(engine);
    EXPECT_EQ(rig.give(Packet(1).of(0).at(0, 0).items({5})), placed);
    EXPECT_EQ(pop_counts(rig), Counts{1});
}

/// Gives random traffic, and has the engine lag behind by up to `most` batches, never quite catching up.
void run_behind(std::uint64_t seed, std::uint64_t& delivered_while_busy) {
    std::mt19937_64 random(seed);
    WindowConfig c = small_window();
    c.substreams = 1 + static_cast<std::uint32_t>(random() % 3);
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 8);
    c.history_ticks = 0;
    c.timeout_ticks = random() % 2 == 0 ? 0 : 100;
    c.stop_on_stop_item = random() % 8 == 0;
    c.copying = 4096;
    Traffic::Settings t;
    t.senders = 1 + random() % 4;
    t.heaps = 80;
    t.loss = random() % 2 == 0 ? 0 : 0.05;
    t.hostile = random() % 2 == 0 ? 0 : 0.1;
    t.reordering = random() % 10;
    t.one_pattern = true;
    t.stops = random() % 2 == 0;
    const Traffic traffic(t, seed);
    const std::size_t most = 1 + random() % 32;
    const std::size_t batch_packets = 1 + random() % 100;

    LateEngine engine;
    Rig rig(c, {.arena = 8 * kMiB, .queue_heaps = 1024});
    rig.copied_by(engine);
    rig.short_way = random() % 4 != 0;
    Model model(c);
    const auto take = [&] {
        while (const HeapHandle h = rig.pop()) {
            ASSERT_FALSE(model.ended.empty());
            ASSERT_EQ(h.cnt(), model.ended.front().key) << "out of order";
            ASSERT_EQ(h.end(), model.ended.front().end);
            ASSERT_FALSE(engine.is_pending(h.payload().data())) << "heap " << h.cnt() << " came too early";
            ASSERT_NO_FATAL_FAILURE(expect_intact(h));
            model.ended.pop_front();
            delivered_while_busy += engine.in_flight() != 0;
        }
        rig.reclaim();
    };
    std::size_t in_batch = 0;
    std::size_t open = 0;
    for (const Packet& p : traffic.packets()) {
        ASSERT_EQ(rig.accept(p), model.accept(p));
        open++;
        if (++in_batch < Window::kMaxBatch && random() % 16 != 0)
            continue;
        in_batch = 0;
        rig.commit();
        model.commit();
        if (open >= batch_packets) {
            open = 0;
            engine.close();
        }
        // One batch is always left: the engine is never idle.
        while (engine.in_flight() > most)
            engine.work(1);
        if (random() % 2 == 0)
            engine.work(engine.in_flight() - std::min<std::size_t>(engine.in_flight(), 1 + random() % most));
        ASSERT_LE(engine.in_flight(), most);
        if (random() % 4 == 0) {
            rig.expire(p.view().arrival);
            model.expire(p.view().arrival);
        }
        rig.hand_over();
        ASSERT_NO_FATAL_FAILURE(take());
    }
    rig.commit();
    model.commit();
    engine.close();
    rig.flush();
    model.flush();
    ASSERT_NO_FATAL_FAILURE(take());
    rig.window().drop_waiting();
    ASSERT_EQ(rig.counters.heaps_dropped_full, 0U) << "they do not wait for a consumer";
    while (engine.in_flight() != 0) {
        engine.work(1);
        rig.hand_over();
        ASSERT_NO_FATAL_FAILURE(take());
    }
    EXPECT_TRUE(model.ended.empty()) << model.ended.size() << " heaps did not come";
    EXPECT_FALSE(rig.window().has_ended());
}

TEST(WindowLateCopies, HeapsComeInOrderWithAllTheirBytesWhileTheEngineIsNeverIdle) {
    std::uint64_t delivered_while_busy = 0;
    for (std::uint64_t seed = 1; seed <= spead::test::cases(60); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        run_behind(seed, delivered_while_busy);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(delivered_while_busy, spead::test::cases(3000));
}

/// Gives more than there is room for: heaps are dropped and given up while copies into them are to come.
void run_short(std::uint64_t seed, std::uint64_t& dropped) {
    std::mt19937_64 random(seed);
    WindowConfig c = small_window();
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 8);
    c.max_heap_bytes = 4 * kKiB;
    c.guarded = random() % 2 == 0;
    c.timeout_ticks = random() % 3 == 0 ? 50 : 0;
    c.on_full = static_cast<FullPolicy>(random() % 3);
    c.copying = static_cast<std::uint32_t>(random() % 64);
    Traffic::Settings t;
    t.senders = 1 + random() % 4;
    t.heaps = 150;
    t.longest_heap = c.max_heap_bytes - 200;
    t.longest_payload = 1 + t.longest_heap / (1 + random() % 8);
    t.unsized = random() % 2 == 0 ? 0.05 : 0.5;
    t.hostile = 0.1;
    t.reordering = random() % 10;
    t.one_pattern = true;
    const Traffic traffic(t, seed);
    LateEngine engine;
    Rig rig(
        c, {.quota = (c.max_heap_bytes << random() % 5) + random() % 4096, .queue_heaps = 1 + random() % 12});
    rig.copied_by(engine);
    std::size_t in_batch = 0;
    for (const Packet& p : traffic.packets()) {
        rig.accept(p);
        if (random() % 3 == 0)  // forged
            rig.accept(Packet(random()).of(random() % 4096).at(0, 0).time(p.view().arrival));
        if (++in_batch < 30 && random() % 8 != 0)
            continue;
        in_batch = 0;
        rig.commit();
        if (random() % 2 == 0)
            engine.close();
        if (random() % 2 == 0)
            engine.work(random() % 4);
        rig.hand_over();
        if (random() % 8 == 0)
            rig.expire(p.view().arrival);
        for (std::uint64_t most = random() % 8; most != 0; most--)
            if (const HeapHandle h = rig.pop(); h) {
                ASSERT_FALSE(engine.is_pending(h.payload().data()));
                ASSERT_NO_FATAL_FAILURE(expect_intact(h));
            }
        rig.reclaim();
    }
    rig.window().stop();
    rig.window().drop_waiting();
    rig.check();
    dropped += rig.counters.heaps_dropped_full;
}

TEST(WindowLateCopies, MemoryOfDiscardedHeapsIsNotUsedBeforeTheirCopiesAreMade) {
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 1; seed <= spead::test::cases(60); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        run_short(seed, dropped);
        if (HasFailure())
            return;
    }
    EXPECT_GT(dropped, 1000U);
}

TEST(WindowLateCopies, AnEngineThatStandsStillCostsABoundedAmount) {
    for (const FullPolicy policy : {FullPolicy::drop_newest, FullPolicy::drop_oldest, FullPolicy::block}) {
        WindowConfig c = small_window();
        c.on_full = policy;
        c.copying = 100;
        LateEngine engine;
        Rig rig(c, {.queue_heaps = 8});
        rig.copied_by(engine);
        std::uint64_t taken = 0;
        std::uint64_t refused = 0;
        for (std::uint64_t k = 0; k < 2000; k++) {
            const PacketOutcome outcome = rig.give(Packet(k).whole(100));
            engine.close();
            taken += outcome == placed;
            refused += outcome == no_memory || outcome == Window::kWait;
        }
        EXPECT_EQ(taken, rig.window().records());
        EXPECT_EQ(taken + refused, 2000U);
        EXPECT_FALSE(rig.window().blocked()) << "the consumer is not late";
        EXPECT_EQ(rig.queued(), 0U);
        rig.window().drop_waiting();
        EXPECT_EQ(rig.window().records_out(), taken) << "nothing comes back before its copies";
        engine.finish();
        rig.hand_over();
        EXPECT_EQ(rig.queued(), 8U);
        rig.window().drop_waiting();
        EXPECT_EQ(rig.give(Packet(5000).of(200).at(0, 100)), placed);
    }
}

TEST(WindowLateCopies, AStopEndsHeapsAtOnceAndHandsThemOverLater) {
    WindowConfig c = small_window();
    c.stop_on_stop_item = true;
    for (const bool by_item : {true, false}) {
        LateEngine engine;
        Rig rig(c);
        rig.copied_by(engine);
        EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
        engine.close();
        if (by_item)
            EXPECT_EQ(rig.give(Packet(2).of(0).at(0, 0).stop()), control);
        else
            rig.window().stop();
        EXPECT_EQ(rig.counters.heaps_live, 0U);
        EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
        EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), stopped);
        EXPECT_EQ(rig.queued(), 0U);
        engine.work(1);
        rig.hand_over();
        const HeapHandle h = rig.pop();
        ASSERT_TRUE(h);
        EXPECT_TRUE(holds_pattern(h, 0, 100));
    }
}

TEST(WindowLateCopies, HeapsOfAnEngineThatFailsAreLostIfTheyLackCopies) {
    for (const bool by_dropping : {false, true}) {
        LateEngine engine;
        Rig rig(small_window());
        rig.copied_by(engine);
        EXPECT_EQ(rig.give(Packet(1).whole(100)), placed);
        engine.close();
        engine.work(1);
        EXPECT_EQ(rig.give(Packet(2).of(200).at(0, 100)), placed);
        EXPECT_EQ(rig.give(Packet(3).whole(100)), placed);
        engine.close();
        engine.tickets.fail();
        // It goes nowhere.
        EXPECT_EQ(rig.give(Packet(4).whole(100)), placed);
        EXPECT_EQ(rig.give(Packet(5).of(0).at(0, 0).items({5})), placed);
        rig.flush();
        if (by_dropping)
            rig.window().drop_waiting();
        EXPECT_EQ(pop_counts(rig), (Counts{1, 5})) << "heap 5 has no payload";
        EXPECT_EQ(rig.counters.heaps_device_error, 3U);
        EXPECT_EQ(rig.counters.heaps_waiting, 0U);
        EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
        EXPECT_EQ(rig.ended(HeapEnd::complete), 4U);
        EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
        engine.forget();
    }
}

TEST(WindowLateCopies, AHeapIsNotMovedAwayFromThem) {
    // A lossless stream moves a heap that turns out to be larger than its block, unless an engine writes it.
    WindowConfig c = small_window();
    c.on_full = FullPolicy::block;
    for (const bool late : {false, true}) {
        LateEngine engine;
        Rig rig(c, {.arena = 2 * kMiB, .quota = 256 * kKiB});
        if (late)
            rig.copied_by(engine);
        EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
        const std::size_t block = rig.arena().in_use();
        EXPECT_EQ(rig.give(Packet(1).at(100, block)), late ? no_memory : placed);
        EXPECT_EQ(rig.counters.packets_at_limit, late ? 1U : 0U);
        engine.finish();
        rig.flush();
        const HeapHandle h = rig.pop();
        ASSERT_TRUE(h);
        EXPECT_TRUE(holds_pattern(h, 0, late ? 100 : 100 + block));
    }
}

/// Places all heaps in one range, and expects that they end in order, with their copies made.
class Shelf final : public HeapPlacer {
  public:
    explicit Shelf(const LateEngine& engine) : engine_(engine) {}
    Answer begin(const PacketView& view, std::uint32_t) noexcept override {
        return {.base = bytes_.data() + view.key * kHeap, .length = kHeap};
    }
    void end(const Record& r, std::uint32_t) noexcept override {
        EXPECT_FALSE(engine_.is_pending(r.base)) << "heap " << r.key;
        ended.push_back(r.key);
    }

    static constexpr std::size_t kHeap = 16;
    static constexpr std::size_t kHeaps = 400;
    Counts ended;

  private:
    const LateEngine& engine_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(kHeap * kHeaps);
};

TEST(WindowLateCopies, PlacedHeapsGiveTheirRecordsBackInOrderAndAfterThem) {
    std::mt19937_64 random(5);
    LateEngine engine;
    Shelf shelf(engine);
    WindowConfig c = small_window();
    c.copying = 500;
    HeapQueue queue(1, Window::records_needed(c, 1));
    stats::StreamCounters counters;
    Window window(c, shelf, queue, counters);
    window.copied_by(engine.tickets);
    const auto give = [&](const Packet& p) {
        Record* r = window.accept_next(p.view());
        if (r == nullptr)
            r = window.accept(p.view()).record;
        ASSERT_NE(r, nullptr);
        engine.add(*r, Shelf::kHeap, p.view().offset, p.payload());
        window.commit();
        EXPECT_EQ(window.records_out(), counters.heaps_live + counters.heaps_waiting);
    };
    Counts expected;
    std::uint64_t freed_while_busy = 0;
    for (std::uint64_t k = 0; k < Shelf::kHeaps; k++) {
        ASSERT_NO_FATAL_FAILURE(give(Packet(k).of(Shelf::kHeap).at(0, 8)));
        if (random() % 3 == 0)
            engine.close();
        if (random() % 8 == 0) {
            // Its place is taken for something else.
            window.give_up_if([&](const Record& r, std::uint32_t) { return r.key == k; });
        } else {
            ASSERT_NO_FATAL_FAILURE(give(Packet(k).of(Shelf::kHeap).at(8, 8)));
        }
        expected.push_back(k);
        if (random() % 2 == 0)
            engine.work(engine.in_flight() / 2);
        const std::size_t before = shelf.ended.size();
        window.hand_over(1);
        freed_while_busy += shelf.ended.size() - before;
    }
    EXPECT_GT(freed_while_busy, 100U);
    engine.finish();
    window.flush(1);
    EXPECT_EQ(shelf.ended, expected);
    EXPECT_EQ(window.records_out(), 0U);
}

}  // namespace
}  // namespace spead::heap::test
