// SPDX-License-Identifier: BSD-3-Clause
#include "heap/lent_packets.hpp"

#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests heaps whose packets are not copied. The model test (window_model_test.cpp) lends in random traffic.
namespace spead::heap::test {
namespace {

std::vector<std::pair<std::uint64_t, std::size_t>> places(const HeapHandle& h) {
    std::vector<std::pair<std::uint64_t, std::size_t>> out;
    for (const Segment& s : h.segments())
        out.emplace_back(s.offset, s.bytes.size());
    return out;
}

using Places = std::vector<std::pair<std::uint64_t, std::size_t>>;

testing::AssertionResult segments_hold_pattern(const HeapHandle& h) {
    for (const Segment& s : h.segments())
        for (std::size_t i = 0; i < s.bytes.size(); i++)
            if (std::to_integer<std::uint8_t>(s.bytes[i]) != pattern(h.cnt(), s.offset + i))
                return testing::AssertionFailure() << "byte " << s.offset + i << " of heap " << h.cnt();
    return testing::AssertionSuccess();
}

TEST(LentPackets, AreSegmentsInOrderWhateverTheirArrival) {
    Rig rig;
    rig.lend(10);
    for (const std::uint64_t at : {200U, 0U, 100U, 300U})
        rig.give(Packet(7).of(400).at(at, 100));
    rig.give(Packet(7).of(400).at(100, 100));
    EXPECT_EQ(rig.lent().out(), 4U) << "a duplicate is not lent";
    {
        const HeapHandle h = rig.pop();
        EXPECT_EQ(places(h), (Places{{0, 100}, {100, 100}, {200, 100}, {300, 100}}));
        EXPECT_TRUE(segments_hold_pattern(h));
        EXPECT_EQ(h.size(), 400U);
    }
    EXPECT_EQ(rig.lent().out(), 4U) << "the lcore has not taken them back yet";
    rig.reclaim();
    EXPECT_EQ(rig.lent().out(), 0U);
    EXPECT_EQ(rig.counters.lend_full, 0U);
}

TEST(LentPackets, OfAnIncompleteHeapLeaveItsHoles) {
    Rig rig;
    rig.lend(10);
    for (const std::uint64_t at : {350U, 100U})
        rig.give(Packet(7).of(400).at(at, 50));
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_EQ(places(h), (Places{{100, 50}, {350, 50}}));
    EXPECT_TRUE(segments_hold_pattern(h));
    EXPECT_EQ(h.missing(), ranges({{0, 100}, {150, 350}}));
    EXPECT_TRUE(holds_pattern(h, 100, 150));
    EXPECT_TRUE(holds_pattern(h, 350, 400));
}

TEST(LentPackets, GiveAHeapOfOnePacketItsPayloadWhereItIs) {
    Rig rig;
    rig.lend(10);
    rig.give(Packet(7).whole(1000));
    const HeapHandle h = rig.pop();
    ASSERT_EQ(places(h), (Places{{0, 1000}}));
    EXPECT_EQ(h.payload().data(), h.segments()[0].bytes.data());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(LentPackets, AreGatheredOnceWhateverTheNumberOfThreadsThatAsk) {
    Rig rig;
    rig.lend(100);
    for (std::uint64_t at = 0; at < 10000; at += 100)
        rig.give(Packet(7).of(10000).at(at, 100));
    const HeapHandle h = rig.pop();
    std::vector<std::thread> threads;
    std::array<const std::byte*, 4> seen{};
    for (std::size_t t = 0; t < seen.size(); t++)
        threads.emplace_back([&, t] {
            seen[t] = h.payload().data();
            EXPECT_TRUE(holds_pattern(h));
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1U);
    EXPECT_EQ(places(h).size(), 100U) << "the packets are there all the same";
    EXPECT_TRUE(segments_hold_pattern(h));
}

TEST(LentPackets, AtTheBoundAreCopiedAndTheirHeapsCountOnce) {
    Rig rig;
    rig.lend(3);
    // The first heap takes two, the second one and has two copied, the third is a copy.
    for (const std::uint64_t key : {1U, 2U, 3U})
        for (std::uint64_t at = 0; at < (key == 1 ? 200U : 300U); at += 100)
            rig.give(Packet(key).of(key == 1 ? 200 : 300).at(at, 100));
    EXPECT_EQ(rig.lent().out(), 3U);
    EXPECT_EQ(rig.counters.lend_full, 2U);
    {
        const HeapHandle one = rig.pop();
        const HeapHandle two = rig.pop();
        const HeapHandle three = rig.pop();
        EXPECT_EQ(places(one), (Places{{0, 100}, {100, 100}}));
        EXPECT_EQ(places(two), (Places{{0, 100}, {100, 200}}));
        EXPECT_EQ(places(three), (Places{{0, 300}}));
        for (const HeapHandle* h : {&one, &two, &three}) {
            EXPECT_TRUE(segments_hold_pattern(*h));
            EXPECT_TRUE(holds_pattern(*h));
        }
    }
    // The next packet has the room that was given back, without a call of reclaim().
    rig.give(Packet(4).whole(100));
    EXPECT_EQ(rig.lent().out(), 1U);
    EXPECT_EQ(rig.counters.lend_full, 2U);
}

TEST(LentPackets, ComeBackFromHeapsThatAreDropped) {
    WindowConfig c = small_window();
    c.max_live = 2;
    for (const FullPolicy policy : {FullPolicy::drop_newest, FullPolicy::drop_oldest}) {
        c.on_full = policy;
        Rig rig(c, {.queue_heaps = 1});
        rig.lend(1000);
        for (std::uint64_t key = 0; key < 100; key++) {
            rig.give(Packet(key).of(400).at(0, 100));
            rig.give(Packet(key).of(400).at(200, 100));
        }
        EXPECT_GT(rig.counters.heaps_dropped_full, 90U);
        EXPECT_LE(rig.lent().out(), 2U * (2 + 2));
    }
}

TEST(LentPackets, GoWithTheirOwner) {
    // A lane may end while users hold heaps: then nobody reclaims.
    static int freed = 0;
    std::array<int, 3> buffers{};
    std::array<Record, 4> records{};
    {
        LentPackets lent(3, records.size(),
                         [](void* const*, std::size_t n) { freed += static_cast<int>(n); });
        lent.number_from(records.data());
        const auto* const bytes = reinterpret_cast<const std::byte*>(buffers.data());
        EXPECT_TRUE(lent.keep(records[3], &buffers[0], bytes, 0, 4));
        EXPECT_TRUE(lent.keep(records[3], &buffers[1], bytes + 4, 4, 4));
        EXPECT_TRUE(lent.keep(records[0], &buffers[2], bytes + 8, 0, 4));
        EXPECT_FALSE(lent.keep(records[1], &buffers[2], bytes + 8, 0, 4));
        lent.release(records[0]);
        EXPECT_EQ(freed, 1);
        EXPECT_EQ(lent.out(), 2U);
    }
    EXPECT_EQ(freed, 3);
}

}  // namespace
}  // namespace spead::heap::test
