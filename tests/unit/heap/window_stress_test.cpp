// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include <gtest/gtest.h>

#include "heap/item_words.hpp"
#include "tests/support/heap_rig.hpp"
#include "tests/support/heap_traffic.hpp"
#include "tests/support/sanitized.hpp"

/// Tests traffic that gets too little of everything, and traffic that no sender would make. The identities
/// and the bounds must hold, and no byte is where it does not belong. The rig asserts the rest.
namespace spead::heap::test {
namespace {

/// Takes heaps now and then, holds them for a while, and gives them back in any order.
class Consumer {
  public:
    Consumer(Rig& rig, std::mt19937_64& random) : rig_(rig), random_(random) {}

    void act() {
        switch (random_() % 4) {
            case 0:
                return;
            case 1:
                take(random_() % 20);
                break;
            case 2:
                give_back(random_() % 20);
                break;
            default:
                take(random_() % 4);
                give_back(random_() % 4);
                break;
        }
    }
    void take(std::uint64_t most) {
        for (std::uint64_t i = 0; i < most; i++) {
            HeapHandle h = rig_.pop();
            if (!h)
                return;
            ASSERT_NO_FATAL_FAILURE(expect_intact(h)) << "heap " << h.cnt();
            delivered++;
            held_.push_back(std::move(h));
        }
    }
    void give_back(std::uint64_t most) {
        for (std::uint64_t i = 0; i < most && !held_.empty(); i++) {
            std::swap(held_[random_() % held_.size()], held_.back());
            // Held memory must not have changed either.
            ASSERT_NO_FATAL_FAILURE(expect_intact(held_.back()));
            held_.pop_back();
        }
    }

    std::uint64_t delivered = 0;

  private:
    Rig& rig_;
    std::mt19937_64& random_;
    std::vector<HeapHandle> held_;
};

void run_short_of_everything(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    WindowConfig c;
    c.substreams = 1 + static_cast<std::uint32_t>(random() % 3);
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 8);
    c.max_heap_bytes = std::uint64_t{1} << (9 + random() % 6);
    c.history = static_cast<std::uint32_t>(random() % 100);
    c.history_ticks = random() % 500;
    c.timeout_ticks = random() % 3 == 0 ? 100 : 0;
    c.in_order = random() % 4 == 0;
    c.on_full = static_cast<FullPolicy>(random() % 3);

    Traffic::Settings t;
    t.senders = 1 + random() % 6;
    t.heaps = 100;
    t.longest_heap = c.max_heap_bytes - random() % 200;
    t.longest_payload = 1 + t.longest_heap / (1 + random() % 12);
    t.hostile = random() % 2 == 0 ? 0.02 : 0.2;
    t.unsized = random() % 2 == 0 ? 0.05 : 0.6;
    t.reordering = random() % 10;
    t.one_pattern = true;
    t.counts_collide = random() % 4 == 0;

    const Traffic traffic(t, seed);
    RigSizes sizes;
    sizes.queue_heaps = 1 + random() % 12;
    sizes.quota = (c.max_heap_bytes << random() % 6) + random() % 4096;
    Rig rig(c, sizes);
    rig.short_way = random() % 4 != 0;
    Consumer consumer(rig, random);
    std::size_t waiting = 0;
    for (const Packet& p : traffic.packets()) {
        rig.accept(p);
        ASSERT_LE(rig.arena().in_use(), sizes.quota);
        ASSERT_LE(rig.counters.heaps_live, std::uint64_t{c.substreams} * c.max_live);
        if (++waiting == Window::kMaxBatch || random() % 16 == 0) {
            rig.commit();
            rig.hand_over();
            ASSERT_NO_FATAL_FAILURE(consumer.act());
            if (random() % 8 == 0)
                rig.reclaim();
            if (random() % 16 == 0)
                rig.expire(p.view().arrival);
            if (random() % 200 == 0)
                rig.window().set_on_full(static_cast<FullPolicy>(random() % 3));
            waiting = 0;
        }
    }
    rig.commit();
    rig.flush();
    rig.window().drop_waiting();
    ASSERT_NO_FATAL_FAILURE(consumer.take(~std::uint64_t{0}));
    ASSERT_NO_FATAL_FAILURE(consumer.give_back(~std::uint64_t{0}));
    rig.check();
    EXPECT_EQ(consumer.delivered, rig.queue().taken());
}

TEST(WindowStress, StaysWithinItsBoundsWhenEverythingIsShort) {
    for (std::uint64_t seed = 1; seed <= spead::test::cases(60); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        run_short_of_everything(seed);
        if (HasFatalFailure())
            return;
    }
}

/// Makes any packet that a decoder may let through. Everything is random, and extremes come often.
Packet anything(std::mt19937_64& random) {
    const auto number = [&]() -> std::uint64_t {
        switch (random() % 4) {
            case 0:
                return random() % 4;
            case 1:
                return random() % 4096;
            case 2:
                return (std::uint64_t{1} << random() % 57) - random() % 2;
            default:
                return random() >> 8;
        }
    };
    Packet p(random() % 3 == 0 ? number() : random() % 16);
    const std::uint64_t offset = number();
    p.at(offset, random() % 4 == 0 ? random() % 9000 : random() % 64);
    if (random() % 4 != 0)
        p.of(offset + p.view().payload_length + number());
    if (random() % 2 == 0) {
        std::vector<std::uint64_t> words(1 + random() % (random() % 64 == 0 ? kMaxItems : 24));
        for (std::uint64_t& w : words)
            w = random() % 2 == 0 ? number() : random();
        p.items(words).pointing_at(number());
    }
    if (random() % 8 == 0)
        p.stop();
    if (random() % 8 == 0)
        p.flavour(static_cast<std::uint8_t>(8 * (1 + random() % 7)));
    return p;
}

TEST(WindowStress, TakesAnyPacketWithoutHarm) {
    for (std::uint64_t seed = 1; seed <= 20; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        WindowConfig c;
        c.max_heap_bytes = 16 * kKiB;
        c.substreams = 1 + static_cast<std::uint32_t>(random() % 2);
        c.in_order = seed % 3 == 0;
        c.history_ticks = 300;
        c.timeout_ticks = 200;
        Rig rig(c, {.quota = seed % 2 == 0 ? 2 * kMiB : 100 * kKiB, .queue_heaps = 16});
        Consumer consumer(rig, random);
        for (std::uint64_t now = 1; now < 3000; now++) {
            rig.accept(anything(random).time(now));
            if (now % 32 == 0) {
                rig.commit();
                rig.hand_over();
                ASSERT_NO_FATAL_FAILURE(consumer.act());
                rig.expire(now);
            }
        }
        rig.commit();
    }
}

TEST(WindowStress, PacketsThatAreRefusedLeaveGoodHeapsWhole) {
    // Around every packet of good heaps: repeats, other lengths, other flavours, overlaps, item floods, heaps
    // that are too big, late packets, control. All of it is counted, nothing of it counts.
    for (std::uint64_t seed = 1; seed <= 10; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        Rig rig(small_window(), {.queue_heaps = 256});
        std::uint64_t control_key = std::uint64_t{1} << 39;
        std::uint64_t refused = 0;
        const auto nuisance = [&](std::uint64_t key, std::uint64_t arrived, std::uint64_t length) {
            const auto refuse = [&](const Packet& p) {
                ASSERT_NE(rig.give(p), PacketOutcome::placed);
                refused++;
            };
            const std::uint64_t part = 1 + random() % 100;
            switch (random() % 8) {
                case 0:
                    refuse(Packet(key).of(length).at(random() % arrived, 1, 5));
                    break;
                case 1:
                    refuse(Packet(key).of(length + part).at(arrived, part, 5));
                    break;
                case 2:
                    refuse(Packet(key).flavour(56).of(length).at(arrived, part, 5).items({7}));
                    break;
                case 3:
                    refuse(
                        Packet(key).of(length).at(arrived - 1, part + 1, 5).items({8}).pointing_at(1 << 30));
                    break;
                case 4:
                    refuse(Packet(random()).of((std::uint64_t{1} << 40) + part).at(arrived, part, 5));
                    break;
                case 5:
                    refuse(Packet(control_key++).whole(1).control());
                    break;
                case 6:
                    if (key > 0)
                        refuse(Packet(key - 1).of(length).at(arrived, part, 5));
                    break;
                default:
                    refuse(Packet(key).at(length - 1, part + 1, 5));
                    break;
            }
        };
        for (std::uint64_t key = 0; key < 40; key++) {
            for (std::uint64_t at = 0; at < 2000; at += 200) {
                const Packet p = Packet(key).of(2000).at(at, 200).items({1, 2});
                ASSERT_EQ(rig.give(p), PacketOutcome::placed);
                if (at + 200 < 2000)
                    nuisance(key, at + 200, 2000);
            }
        }
        EXPECT_EQ(rig.counters.heaps_started, 40U);
        EXPECT_EQ(rig.counters.bytes, 40U * 2000);
        EXPECT_EQ(rig.packets(PacketOutcome::placed), 400U);
        EXPECT_GT(refused, 300U);
        for (std::uint64_t key = 0; key < 40; key++) {
            const HeapHandle h = rig.pop();
            ASSERT_EQ(h.cnt(), key);
            EXPECT_TRUE(h.complete());
            EXPECT_EQ(words_of(h), (std::vector<std::uint64_t>{1, 2}));
            ASSERT_TRUE(holds_pattern(h));
        }
    }
}

}  // namespace
}  // namespace spead::heap::test
