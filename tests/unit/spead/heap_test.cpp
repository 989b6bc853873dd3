// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/spead/user_heap.hpp"

namespace spead {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::byte> first_bytes(std::span<const std::byte> bytes, std::size_t n) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)};
}

TEST(Heap, IsEmptyUntilItIsGivenOne) {
    Heap heap;
    EXPECT_FALSE(heap);
    Heap other = std::move(heap);
    EXPECT_FALSE(other);
    other = Heap();
    EXPECT_FALSE(other);
}

TEST(Heap, TellsWhatCameOfIt) {
    test::HeapMaker maker;
    const Heap heap = maker.make({heap::test::Packet(77).whole(100).flavour(48)});
    ASSERT_TRUE(heap);
    EXPECT_EQ(heap.cnt(), 77U);
    EXPECT_TRUE(heap.complete());
    EXPECT_EQ(heap.length(), 100U);
    EXPECT_EQ(heap.received(), 100U);
    EXPECT_EQ(heap.packets(), 1U);
    EXPECT_EQ(heap.address_bits(), 48U);
    EXPECT_THAT(heap.payload(), SizeIs(100));
    EXPECT_THAT(heap.missing(), IsEmpty());
    EXPECT_EQ(std::to_integer<std::uint8_t>(heap.payload()[99]), heap::test::pattern(77, 99));
}

TEST(Heap, IsContiguousWithoutALengthIfItHasNoHole) {
    test::HeapMaker maker;
    using heap::test::Packet;
    const Heap whole = maker.make({Packet(1).at(0, 100), Packet(1).at(100, 50)});
    EXPECT_FALSE(whole.complete());
    EXPECT_FALSE(whole.has_length());
    EXPECT_TRUE(whole.contiguous());
    const Heap torn = maker.make({Packet(2).at(0, 100), Packet(2).at(150, 50)});
    EXPECT_FALSE(torn.contiguous());
    const Heap sized = maker.make({Packet(3).whole(100)});
    EXPECT_TRUE(sized.has_length() && sized.contiguous() && sized.complete());
}

TEST(Heap, MovesWithItsMemoryAndGivesItBackOnce) {
    test::HeapMaker maker;
    Heap a = maker.make({heap::test::Packet(1).whole(100)});
    Heap b = maker.make({heap::test::Packet(2).whole(100)});
    EXPECT_EQ(maker.out(), 2U);
    b = std::move(a);
    EXPECT_EQ(maker.out(), 1U);
    EXPECT_EQ(b.cnt(), 1U);
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): empty is what it must be
    Heap& same = b;
    b = std::move(same);
    EXPECT_EQ(b.cnt(), 1U);
    b = Heap();
    EXPECT_EQ(maker.out(), 0U);
}

TEST(Heap, ListsItemsByAddressAndImmediatesByValue) {
    test::HeapMaker maker;
    const auto words = {test::addressed(0x1200, 60), test::immediate(0x1600, 9), test::addressed(0x1100, 0),
                        test::immediate(0x1601, 3)};
    const Heap heap = maker.make({heap::test::Packet(5).whole(100).items(words).pointing_at(60)});
    const std::vector<Item> items = heap.items();
    ASSERT_THAT(items, SizeIs(4));
    EXPECT_EQ(items[0].id, 0x1100U);
    EXPECT_FALSE(items[0].immediate);
    EXPECT_EQ(items[0].bytes.data(), heap.payload().data());
    EXPECT_THAT(items[0].bytes, SizeIs(60));
    EXPECT_EQ(items[1].id, 0x1200U);
    EXPECT_THAT(items[1].bytes, SizeIs(40));
    EXPECT_EQ(items[2].id, 0x1601U);
    EXPECT_TRUE(items[2].immediate);
    EXPECT_EQ(items[2].value, 3U);
    EXPECT_EQ(items[3].value, 9U);
    EXPECT_EQ(heap.immediate(0x1600), 9U);
    EXPECT_EQ(heap.immediate(0x1601), 3U);
    EXPECT_EQ(heap.immediate(0x1100), std::nullopt);
    EXPECT_EQ(heap.immediate(0x1602), std::nullopt);
    EXPECT_EQ(first_bytes(heap.bytes(0x1200), 40), first_bytes(heap.payload().subspan(60), 40));
    EXPECT_THAT(heap.bytes(0x1600), IsEmpty());
    EXPECT_THAT(heap.bytes(0x1602), IsEmpty());
}

TEST(Heap, TellsStreamControl) {
    test::HeapMaker maker;
    const Heap start = maker.make({heap::test::Packet(1).whole(9).items({test::immediate(6, 0)})});
    EXPECT_TRUE(start.is_start_of_stream());
    EXPECT_FALSE(start.is_end_of_stream());
    const Heap stop = maker.make(
        {heap::test::Packet(2).whole(9).items({test::immediate(0x1600, 0), test::immediate(6, 2)})});
    EXPECT_FALSE(stop.is_start_of_stream());
    EXPECT_TRUE(stop.is_end_of_stream());
    const Heap neither = maker.make({heap::test::Packet(3)
                                         .whole(9)
                                         .items({test::immediate(6, 1), test::addressed(6, 2)})
                                         .pointing_at(2)});
    EXPECT_FALSE(neither.is_start_of_stream());
    EXPECT_FALSE(neither.is_end_of_stream());
}

TEST(Heap, ShowsItemsOfAnIncompleteHeapOnlyIfTheyCame) {
    test::HeapMaker maker;
    const auto words = {test::addressed(0x1100, 0), test::addressed(0x1200, 50), test::addressed(0x1300, 90)};
    const Heap heap = maker.make({heap::test::Packet(5).of(100).at(0, 40).items(words).pointing_at(90),
                                  heap::test::Packet(5).of(100).at(90, 10)});
    EXPECT_FALSE(heap.complete());
    EXPECT_EQ(heap.received(), 50U);
    const std::vector<Heap::Hole> missing = heap.missing();
    ASSERT_THAT(missing, SizeIs(1));
    EXPECT_EQ(missing[0].begin, 40U);
    EXPECT_EQ(missing[0].end, 90U);
    const std::vector<Item> items = heap.items();
    ASSERT_THAT(items, SizeIs(3));
    EXPECT_THAT(items[0].bytes, IsEmpty()) << "it ends at 50, and 40 came";
    EXPECT_THAT(items[1].bytes, IsEmpty());
    EXPECT_THAT(items[2].bytes, SizeIs(10));
    EXPECT_THAT(heap.bytes(0x1100), IsEmpty());
    EXPECT_THAT(heap.bytes(0x1300), SizeIs(10));
}

TEST(Heap, OutlivesItsStream) {
    auto maker = std::make_unique<test::HeapMaker>();
    const Heap heap = maker->make({heap::test::Packet(3).whole(1000)});
    maker.reset();
    for (std::size_t i = 0; i < 1000; i++)
        ASSERT_EQ(std::to_integer<std::uint8_t>(heap.payload()[i]), heap::test::pattern(3, i));
}

}  // namespace
}  // namespace spead
