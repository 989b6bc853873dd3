// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_model.hpp"
#include "tests/support/heap_rig.hpp"
#include "tests/support/heap_traffic.hpp"
#include "tests/support/sanitized.hpp"

/// Compares the window with a model that is simple enough to be right, under random traffic. Each packet has
/// the same outcome. The same heaps come in the same order, byte for byte.
namespace spead::heap::test {
namespace {

void expect_equal(const HeapHandle& real, const Model::Heap& model) {
    ASSERT_TRUE(real) << "heap " << model.key << " was not delivered";
    ASSERT_EQ(real.cnt(), model.key);
    ASSERT_EQ(real.end(), model.end);
    ASSERT_EQ(real.complete(), model.end == HeapEnd::complete);
    ASSERT_EQ(real.length(), model.length.value_or(kUnknownLength));
    ASSERT_EQ(real.received(), model.bytes.size());
    ASSERT_EQ(real.extent(), model.extent());
    ASSERT_EQ(real.contiguous(), model.contiguous());
    ASSERT_EQ(real.item_past_end(), model.past_end());
    ASSERT_EQ(real.packets(), model.packets);
    ASSERT_EQ(real.source(), model.source);
    ASSERT_EQ(real.flavour(), model.flavour);
    ASSERT_EQ(real.first_arrival(), model.first_arrival);
    ASSERT_EQ(real.last_arrival(), model.last_arrival);
    ASSERT_EQ(real.missing(), model.missing());
    ASSERT_EQ(words_of(real), model.words);
    // Before payload(), which may copy.
    std::map<std::uint64_t, std::uint8_t> segments;
    std::uint64_t at_least = 0;
    for (const Segment& s : real.segments()) {
        ASSERT_FALSE(s.bytes.empty());
        ASSERT_GE(s.offset, at_least);
        at_least = s.offset + s.bytes.size();
        for (std::size_t i = 0; i < s.bytes.size(); i++)
            segments[s.offset + i] = std::to_integer<std::uint8_t>(s.bytes[i]);
    }
    ASSERT_EQ(segments, model.bytes);
    ASSERT_EQ(real.payload().size(), model.length.value_or(model.extent()));
    for (const auto& [at, value] : model.bytes)
        ASSERT_EQ(std::to_integer<std::uint8_t>(real.payload()[at]), value) << "byte " << at;
}

void expect_delivered(Rig& rig, Model& model) {
    while (!model.ended.empty()) {
        const HeapHandle h = rig.pop();
        ASSERT_NO_FATAL_FAILURE(expect_equal(h, model.ended.front())) << "heap " << model.ended.front().key;
        model.ended.pop_front();
    }
    ASSERT_FALSE(rig.pop()) << "a heap too many";
}

void expect_same_counts(const Rig& rig, const Model& model) {
    for (std::size_t o = 0; o < kPacketOutcomes; o++)
        ASSERT_EQ(rig.counters.packets[o], model.packets[o]) << kPacketOutcomeNames[o];
    ASSERT_EQ(rig.counters.heaps_started, model.heaps_started);
    ASSERT_EQ(rig.counters.heaps_ended, model.heaps_ended);
    ASSERT_EQ(rig.counters.heaps_live, model.live());
    ASSERT_EQ(rig.counters.bytes, model.bytes);
    ASSERT_EQ(rig.counters.stop_items, model.stop_items);
}

struct Seen {
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::array<std::uint64_t, kHeapEnds> ended{};
    std::uint64_t whole_heaps = 0;
};

void run(std::uint64_t seed, Seen& seen) {
    std::mt19937_64 random(seed);
    WindowConfig c;
    c.substreams = 1 + static_cast<std::uint32_t>(random() % 3);
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 6);
    c.max_heap_bytes = 300 + random() % 200;
    c.history = random() % 4 == 0 ? 0 : static_cast<std::uint32_t>(random() % 200);
    c.history_ticks = random() % 3 == 0 ? 0 : 50 + random() % 2000;
    c.timeout_ticks = random() % 2 == 0 ? 0 : 20 + random() % 200;
    c.in_order = random() % 3 == 0;
    c.stop_on_stop_item = random() % 8 == 0;
    c.control_heaps = random() % 2 == 0;

    Traffic::Settings t;
    t.senders = 1 + random() % 4;
    t.heaps = 60;
    // Every fourth run has many heaps of one packet.
    if (seed % 4 == 0)
        t.longest_heap = 80;
    t.loss = random() % 3 == 0 ? 0 : 0.05;
    t.repeat = random() % 3 == 0 ? 0 : 0.1;
    t.hostile = random() % 3 == 0 ? 0 : 0.15;
    t.unsized = random() % 2 == 0 ? 0.05 : 0.5;
    t.reordering = c.in_order ? random() % 2 : random() % 8;
    t.counts_collide = random() % 4 == 0;
    t.stops = random() % 2 == 0;

    const Traffic traffic(t, seed);
    Rig rig(c, {.arena = 4 * kMiB, .queue_heaps = 256});
    rig.short_way = random() % 4 != 0;
    // Every third run lends packets: few, so that heaps are copied half way, or many.
    if (seed % 3 == 0)
        rig.lend(static_cast<std::uint32_t>(seed / 3 % 5 == 0 ? 1000 : seed / 3 % 60));
    Model model(c);
    std::size_t batch = 1 + random() % Window::kMaxBatch;
    std::size_t waiting = 0;
    std::uint64_t now = 0;
    const auto end_batch = [&] {
        rig.commit();
        model.commit();
        rig.hand_over();
        ASSERT_NO_FATAL_FAILURE(expect_delivered(rig, model));
        ASSERT_NO_FATAL_FAILURE(expect_same_counts(rig, model));
        if (random() % 4 == 0)
            batch = 1 + random() % Window::kMaxBatch;
        waiting = 0;
    };
    for (std::size_t i = 0; i < traffic.packets().size(); i++) {
        const Packet& p = traffic.packets()[i];
        const PacketOutcome expected = model.accept(p);
        const PacketOutcome got = rig.accept(p);
        ASSERT_EQ(got, expected) << "packet " << i << " of heap " << p.key();
        now = p.view().arrival;
        if (++waiting == batch) {
            ASSERT_NO_FATAL_FAILURE(end_batch());
            if (random() % 8 == 0) {
                now += random() % 3;
                rig.expire(now);
                model.expire(now);
                ASSERT_NO_FATAL_FAILURE(expect_delivered(rig, model));
            }
        }
    }
    ASSERT_NO_FATAL_FAILURE(end_batch());
    rig.flush();
    model.flush();
    ASSERT_NO_FATAL_FAILURE(expect_delivered(rig, model));
    ASSERT_NO_FATAL_FAILURE(expect_same_counts(rig, model));
    ASSERT_EQ(rig.counters.heaps_live, 0U);
    seen.whole_heaps += rig.whole_heaps;
    for (std::size_t o = 0; o < kPacketOutcomes; o++)
        seen.packets[o] += model.packets[o];
    for (std::size_t e = 0; e < kHeapEnds; e++)
        seen.ended[e] += model.heaps_ended[e];
}

TEST(WindowModel, AgreesWithTheWindowOnRandomTraffic) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= spead::test::cases(120); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        run(seed, seen);
        if (HasFatalFailure())
            return;
    }
    // The traffic is worth something only if it brings everything about.
    for (const PacketOutcome o :
         {PacketOutcome::placed, PacketOutcome::duplicate, PacketOutcome::late, PacketOutcome::heap_too_big,
          PacketOutcome::inconsistent, PacketOutcome::out_of_order, PacketOutcome::control,
          PacketOutcome::stopped})
        EXPECT_GT(seen.packets[static_cast<std::size_t>(o)], spead::test::cases(20)) << name_of(o);
    for (std::size_t e = 0; e < kHeapEnds; e++)
        EXPECT_GT(seen.ended[e], spead::test::cases(20)) << kHeapEndNames[e];
    EXPECT_GT(seen.whole_heaps, spead::test::cases(100));
}

}  // namespace
}  // namespace spead::heap::test
