// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap_handle.hpp"

#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

namespace spead::heap::test {
namespace {

static_assert(!std::is_copy_constructible_v<HeapHandle>);
static_assert(!std::is_copy_assignable_v<HeapHandle>);
static_assert(std::is_nothrow_move_constructible_v<HeapHandle>);
static_assert(std::is_nothrow_move_assignable_v<HeapHandle>);

/// Records that are out: with the window, queued, or in a consumer's hands.
std::size_t out(Rig& rig) {
    rig.reclaim();
    return rig.window().records_out();
}

TEST(HeapHandle, IsEmptyByItself) {
    HeapHandle h;
    EXPECT_FALSE(h);
    h.reset();
    HeapHandle other(std::move(h));
    EXPECT_FALSE(other);
}

TEST(HeapHandle, GoesBackWhenItIsDestroyed) {
    Rig rig;
    rig.give(Packet(1).whole(10));
    {
        const HeapHandle h = rig.pop();
        EXPECT_EQ(out(rig), 1U);
    }
    EXPECT_EQ(out(rig), 0U);
}

TEST(HeapHandle, GoesBackWhenItIsReset) {
    Rig rig;
    rig.give(Packet(1).whole(10));
    HeapHandle h = rig.pop();
    h.reset();
    EXPECT_FALSE(h);
    EXPECT_EQ(out(rig), 0U);
    h.reset();
    EXPECT_EQ(out(rig), 0U) << "not twice";
}

TEST(HeapHandle, MovesWithoutGoingBack) {
    Rig rig;
    rig.give(Packet(1).whole(10));
    HeapHandle a = rig.pop();
    HeapHandle b = std::move(a);
    EXPECT_FALSE(a);
    EXPECT_EQ(b.cnt(), 1U);
    HeapHandle c;
    c = std::move(b);
    EXPECT_FALSE(b);
    EXPECT_EQ(c.cnt(), 1U);
    EXPECT_EQ(out(rig), 1U);
}

TEST(HeapHandle, ThatIsAssignedToGoesBackAtOnce) {
    Rig rig;
    rig.give(Packet(1).whole(10));
    rig.give(Packet(2).whole(10));
    HeapHandle a = rig.pop();
    HeapHandle b = rig.pop();
    a = std::move(b);
    EXPECT_EQ(a.cnt(), 2U);
    EXPECT_FALSE(b);
    EXPECT_EQ(out(rig), 1U);
    a = HeapHandle();
    EXPECT_EQ(out(rig), 0U);
}

TEST(HeapHandle, TellsWhatItsPacketsTold) {
    Rig rig;
    rig.give(Packet(9).flavour(48).from(0xc0a80001).time(100).of(30).at(20, 10).items({3}));
    rig.give(Packet(9).flavour(48).from(0xc0a80002).time(200).of(30).at(0, 20).items({4}));
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.cnt(), 9U);
    EXPECT_EQ(h.flavour(), 48);
    EXPECT_EQ(h.source(), 0xc0a80001U);
    EXPECT_EQ(h.first_arrival(), 100U);
    EXPECT_EQ(h.last_arrival(), 200U);
    EXPECT_EQ(h.packets(), 2U);
    EXPECT_EQ(h.length(), 30U);
    EXPECT_TRUE(h.has_length());
    EXPECT_EQ(h.received(), 30U);
    EXPECT_EQ(h.extent(), 30U);
    EXPECT_EQ(h.end(), HeapEnd::complete);
    EXPECT_FALSE(h.item_past_end());
    EXPECT_EQ(words_of(h), (std::vector<std::uint64_t>{3, 4}));
}

TEST(HeapHandle, ShowsItsPayloadAsOneSegment) {
    Rig rig;
    rig.give(Packet(1).whole(1000));
    const HeapHandle h = rig.pop();
    ASSERT_EQ(h.segments().size(), 1U);
    EXPECT_EQ(h.segments()[0].offset, 0U);
    EXPECT_EQ(h.segments()[0].bytes.data(), h.payload().data());
    EXPECT_EQ(h.segments()[0].bytes.size(), 1000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(h.payload().data()) % memory::Arena::kAlignment, 0U);
}

TEST(HeapHandle, ListsEveryHole) {
    Rig rig;
    for (const std::uint64_t at : {10U, 30U, 40U, 70U})
        rig.give(Packet(1).of(100).at(at, 10));
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.missing(), ranges({{0, 10}, {20, 30}, {50, 70}, {80, 100}}));
    std::uint64_t missing = 0;
    for (const Range& r : h.missing())
        missing += r.end - r.begin;
    EXPECT_EQ(missing + h.received(), h.length());
    std::vector<Range> came;
    for (const Segment& s : h.segments()) {
        EXPECT_EQ(s.bytes.data(), h.payload().data() + s.offset);
        came.push_back(
            {static_cast<std::uint32_t>(s.offset), static_cast<std::uint32_t>(s.offset + s.bytes.size())});
    }
    EXPECT_EQ(came, ranges({{10, 20}, {30, 50}, {70, 80}}));
}

TEST(HeapHandle, ListsOneHoleWhenNothingCame) {
    Rig rig;
    rig.give(Packet(1).of(100).items({1}));
    rig.flush();
    EXPECT_EQ(rig.pop().missing(), ranges({{0, 100}}));
}

TEST(HeapHandle, ListsTheHoleBehindAPrefix) {
    Rig rig;
    rig.give(Packet(1).of(100).at(0, 60));
    rig.flush();
    EXPECT_EQ(rig.pop().missing(), ranges({{60, 100}}));
}

}  // namespace
}  // namespace spead::heap::test
