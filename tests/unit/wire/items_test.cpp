// SPDX-License-Identifier: BSD-3-Clause
#include "wire/items.hpp"

#include <algorithm>
#include <ostream>
#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {

void PrintTo(const ItemView& view, std::ostream* out) {
    *out << std::hex << view.id << (view.immediate ? " = " : " @ ")
         << (view.immediate ? view.value : view.offset) << " + " << view.length;
}

namespace {

constexpr Flavour kFlavour{};

std::vector<ItemView> items(const std::vector<std::uint64_t>& pointers, std::uint64_t payload_length,
                            Flavour flavour = kFlavour) {
    std::vector<ItemView> out;
    list_items(pointers, flavour, payload_length, out);
    return out;
}

std::uint64_t at(std::uint64_t id, std::uint64_t offset) {
    return kFlavour.make_address(id, offset);
}
std::uint64_t is(std::uint64_t id, std::uint64_t value) {
    return kFlavour.make_immediate(id, value);
}
ItemView addressed(std::uint64_t id, std::uint64_t offset, std::uint64_t length) {
    return {id, false, 0, offset, length};
}
ItemView immediate(std::uint64_t id, std::uint64_t value) {
    return {id, true, value, 0, 0};
}

using Items = std::vector<ItemView>;

TEST(Items, NoPointersAreNoItems) {
    EXPECT_EQ(items({}, 100), Items{});
}

TEST(Items, AnItemReachesToTheNextOneAndTheLastToTheEnd) {
    EXPECT_EQ(items({at(0x10, 0), at(0x11, 30), at(0x12, 31)}, 100),
              (Items{addressed(0x10, 0, 30), addressed(0x11, 30, 1), addressed(0x12, 31, 69)}));
}

TEST(Items, OrderOfArrivalDoesNotMatterForDifferentAddresses) {
    EXPECT_EQ(items({at(0x12, 31), is(0x20, 5), at(0x10, 0), at(0x11, 30)}, 100),
              items({at(0x10, 0), at(0x11, 30), at(0x12, 31), is(0x20, 5)}, 100));
}

TEST(Items, ImmediatesComeAfterAddressedItemsByValue) {
    EXPECT_EQ(items({is(0x20, 9), is(0x21, 3), at(0x10, 0)}, 4),
              (Items{addressed(0x10, 0, 4), immediate(0x21, 3), immediate(0x20, 9)}));
}

TEST(Items, ImmediatesOfOneValueKeepTheirOrderOfArrival) {
    EXPECT_EQ(items({is(0x29, 3), is(0x21, 3), is(0x25, 3)}, 0),
              (Items{immediate(0x29, 3), immediate(0x21, 3), immediate(0x25, 3)}));
}

TEST(Items, AnItemOfNoLengthIsLeftOut) {
    EXPECT_EQ(items({at(0x10, 0), at(0x11, 5), at(0x12, 5), at(0x13, 100)}, 100),
              (Items{addressed(0x10, 0, 5), addressed(0x12, 5, 95)}));
}

TEST(Items, OfTwoItemsAtOneAddressTheLaterHasTheBytes) {
    EXPECT_EQ(items({at(0x19, 5), at(0x11, 5)}, 10), (Items{addressed(0x11, 5, 5)}));
    EXPECT_EQ(items({at(0x11, 5), at(0x19, 5)}, 10), (Items{addressed(0x19, 5, 5)}));
}

TEST(Items, ARepeatedPointerCountsOnceWhereItCameFirst) {
    EXPECT_EQ(items({at(0x11, 5), at(0x19, 5), at(0x11, 5), is(0x20, 1), is(0x20, 1)}, 10),
              (Items{addressed(0x19, 5, 5), immediate(0x20, 1)}));
}

TEST(Items, OneIdAtSeveralPlacesIsSeveralItems) {
    EXPECT_EQ(items({at(item::kDescriptor, 0), at(item::kDescriptor, 7), is(0x20, 1), is(0x20, 2)}, 9),
              (Items{addressed(item::kDescriptor, 0, 7), addressed(item::kDescriptor, 7, 2),
                     immediate(0x20, 1), immediate(0x20, 2)}));
}

TEST(Items, AnAddressedNullEndsTheItemBeforeIt) {
    EXPECT_EQ(items({at(0x10, 0), at(item::kNull, 6)}, 8), (Items{addressed(0x10, 0, 6)}));
}

TEST(Items, ImmediateNullsAreDropped) {
    EXPECT_EQ(items({is(item::kNull, 0), is(item::kNull, 77)}, 8), Items{});
}

TEST(Items, PacketSpecialsAreDroppedInEitherModeAndEndNothing) {
    for (std::uint64_t id = 1; id <= 4; ++id)
        EXPECT_EQ(items({is(id, 3), at(0x10, 0), at(id, 4)}, 8), (Items{addressed(0x10, 0, 8)})) << id;
}

TEST(Items, StreamControlIsAnItemLikeOthers) {
    EXPECT_EQ(items({is(item::kStreamCtrl, 2), at(item::kStreamCtrl, 0)}, 1),
              (Items{addressed(item::kStreamCtrl, 0, 1), immediate(item::kStreamCtrl, 2)}));
}

TEST(Items, AddressesPastTheEndNeverReachBeyondThePayload) {
    EXPECT_EQ(items({at(0x10, 3), at(0x11, 8), at(0x12, kFlavour.value_mask())}, 8),
              (Items{addressed(0x10, 3, 5)}));
    EXPECT_EQ(items({at(0x10, 0), at(0x11, 1)}, 0), Items{});
}

TEST(Items, TheGoldenEmptyHeapHasNone) {
    // The pointer of the padding byte: an addressed NULL at 0.
    EXPECT_EQ(items({0x0000000000000000}, 1), Items{});
}

TEST(Items, TheOldContentsOfTheListGo) {
    std::vector<ItemView> out{immediate(1, 2), immediate(3, 4)};
    list_items({}, kFlavour, 9, out);
    EXPECT_TRUE(out.empty());
}

TEST(Items, ItemsAreDisjointOrderedAndWithinThePayloadInEveryFlavour) {
    std::mt19937_64 random(31);
    for (int round = 0; round < 20000; ++round) {
        const Flavour flavour = test::any_flavour(random);
        std::vector<std::uint64_t> pointers(random() % 40);
        for (std::uint64_t& pointer : pointers) {
            const std::uint64_t id = random() % 12;
            const std::uint64_t value = random() % 8 == 0 ? random() : random() % 60;
            pointer = random() % 3 == 0 ? flavour.make_immediate(id, value) : flavour.make_address(id, value);
        }
        const std::uint64_t payload_length = random() % 50;
        const Items list = items(pointers, payload_length, flavour);
        std::uint64_t end = 0;
        bool immediates = false;
        for (const ItemView& view : list) {
            ASSERT_TRUE(view.id > 4);
            if (view.immediate) {
                immediates = true;
                ASSERT_EQ(view.offset + view.length, 0U);
                ASSERT_NE(
                    std::count(pointers.begin(), pointers.end(), flavour.make_immediate(view.id, view.value)),
                    0);
                continue;
            }
            ASSERT_FALSE(immediates);
            ASSERT_GE(view.offset, end);
            ASSERT_GT(view.length, 0U);
            end = view.offset + view.length;
            ASSERT_LE(end, payload_length);
            ASSERT_NE(
                std::count(pointers.begin(), pointers.end(), flavour.make_address(view.id, view.offset)), 0);
        }
    }
}

}  // namespace
}  // namespace spead::wire
