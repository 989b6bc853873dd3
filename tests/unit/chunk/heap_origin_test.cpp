// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/heap_origin.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/placer.hpp"
#include "tests/unit/chunk/made_packet.hpp"
#include "tests/unit/chunk/random_placement.hpp"

namespace spead::chunk {
namespace {

using OriginItems = std::vector<HeapOrigin::Item>;

/// Returns the number along each axis of a place.
std::vector<std::uint64_t> places_of(const Placement& placement, const Placer::Time& time,
                                     std::uint64_t heap) {
    std::uint64_t rest = heap + time.heap;
    std::vector<std::uint64_t> places(placement.axes.size());
    for (std::size_t i = places.size(); i-- > 0;) {
        places[i] = rest % placement.axes[i].count;
        rest /= placement.axes[i].count;
    }
    return places;
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

TEST(HeapOrigins, GivesTheItemsOfADigitiser) {
    const HeapOrigins origins(
        Placement::parse("heap 5120; axis pol: item 0x3101 & 1 [2]; "
                         "time: item 0x1600 / 4096 [8192]; extra u16: item 0x3102 >> 32"));
    const auto origin = origins.of(3, std::array<std::uint64_t, 2>{1, 7}, bytes_of(std::uint16_t{0x1234}));
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->items,
              (OriginItems{{0x3101, 1}, {0x1600, (3 * 8192 + 7) * 4096ULL}, {0x3102, 0x1234'0000'0000ULL}}));
    EXPECT_FALSE(origin->cnt);
    EXPECT_FALSE(origin->endpoint);
}

TEST(HeapOrigins, GivesHeapCountsEndpointsAndListedValues) {
    const HeapOrigins origins(
        Placement::parse("heap 8; axis e: endpoint [4]; axis c: item 0x1001 {7, 3}; time: heap - 1 [64]"));
    const auto origin = origins.of(2, std::array<std::uint64_t, 3>{3, 1, 5}, {});
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->cnt, 2 * 64U + 5 + 1);
    EXPECT_EQ(origin->endpoint, 3U);
    EXPECT_EQ(origin->items, (OriginItems{{0x1001, 3}}));
}

TEST(HeapOrigins, JoinsTheTermsOfOneItem) {
    const HeapOrigins origins(
        Placement::parse("heap 8; axis a: item 0x1000 & 3 [4]; axis b: item 0x1000 >> 4 & 7 [8]; "
                         "time: item 0x1600 // 100 [8]; extra u64: item 0x1600"));
    const auto origin = origins.of(1, std::array<std::uint64_t, 3>{2, 5, 3}, bytes_of(std::uint64_t{1123}));
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->items, (OriginItems{{0x1000, 0x52}, {0x1600, 1123}})) << "the remainder was kept";
    const auto lost = origins.of(1, std::array<std::uint64_t, 3>{2, 5, 3}, bytes_of(~std::uint64_t{0}));
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->items[1].value, 1100U) << "all ones say that there was no value";
    const auto other = origins.of(1, std::array<std::uint64_t, 3>{2, 5, 3}, bytes_of(std::uint64_t{5}));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->items[1].value, 1100U) << "an extra value that contradicts the place is left out";
}

TEST(HeapOrigins, TakeACountFromAnExtraValueThatHasAllOfIt) {
    const std::array<std::uint64_t, 1> place{2};
    const HeapOrigins whole(Placement::parse("heap 8; time: item 0x1600 [8]; extra u64: heap"));
    EXPECT_EQ(whole.of(0, place, bytes_of(std::uint64_t{300}))->cnt, 300U);
    EXPECT_FALSE(whole.of(0, place, bytes_of(~std::uint64_t{0}))->cnt);
    const HeapOrigins part(Placement::parse("heap 8; time: item 0x1600 [8]; extra u8: heap"));
    EXPECT_FALSE(part.of(0, place, bytes_of(std::uint8_t{44}))->cnt);
}

TEST(HeapOrigins, KnowsPlacesThatNoPacketHas) {
    const HeapOrigins narrow(Placement::parse("heap 8; axis a: item 0x1000 & 1 [4]; time: heap [8]"));
    EXPECT_TRUE(narrow.of(0, std::array<std::uint64_t, 2>{1, 0}, {}));
    EXPECT_FALSE(narrow.of(0, std::array<std::uint64_t, 2>{2, 0}, {}));
    const HeapOrigins same(
        Placement::parse("heap 8; axis a: item 0x1000 [4]; axis b: item 0x1000 [4]; time: heap [8]"));
    EXPECT_TRUE(same.of(0, std::array<std::uint64_t, 3>{3, 3, 0}, {}));
    EXPECT_FALSE(same.of(0, std::array<std::uint64_t, 3>{3, 2, 0}, {}));
}

TEST(HeapOrigins, LeadBackToThePlaceForEveryPlacement) {
    RandomPlacement random(11);
    std::uint64_t found = 0;
    std::uint64_t shared = 0;
    for (int round = 0; round < 3000; round++) {
        const unsigned bits = random.maybe() ? 48 : 40;
        const Placement placement = random.make(6, bits);
        const HeapOrigins origins(placement);
        Placer placer(placement);
        const auto packet_of = [&](std::uint64_t cnt, auto&& value_of) {
            MadePacket packet(placement.heap_bytes, bits);
            for (std::uint64_t id = 0x1000; id < 0x1010; id++)
                packet.immediate(id, value_of(id) & packet.flavour().value_mask());
            packet.view().key = cnt & packet.flavour().value_mask();
            return packet;
        };
        for (int i = 0; i < 50; i++) {
            MadePacket packet = packet_of(
                random.below(200), [&](std::uint64_t) { return random.below(random.maybe() ? 200 : 8); });
            const auto endpoint = static_cast<std::uint16_t>(random.below(60));
            Place place;
            if (placer.place(packet.view(), endpoint, place) != PacketOutcome::placed)
                continue;
            const Placer::Time time = placer.split(place.time);
            std::vector<std::byte> extra(placer.layout().extra_bytes);
            placer.write_extras(packet.view(), endpoint, extra.data());
            const std::optional<HeapOrigin> origin = origins.of(
                static_cast<std::uint64_t>(time.id), places_of(placement, time, place.heap), extra);
            // The least value that `//` leaves may need more bits than the flavour has.
            const auto is_wide = [&](const HeapOrigin::Item& item) {
                return item.value > packet.flavour().value_mask();
            };
            if (!origin || std::any_of(origin->items.begin(), origin->items.end(), is_wide) ||
                origin->cnt.value_or(0) > packet.flavour().value_mask()) {
                shared++;
                continue;
            }
            found++;
            const auto value_of = [&](std::uint64_t id) {
                for (const HeapOrigin::Item& item : origin->items)
                    if (item.id == id)
                        return item.value;
                return std::uint64_t{0};
            };
            MadePacket again = packet_of(origin->cnt.value_or(0), value_of);
            Place second;
            ASSERT_EQ(
                placer.place(again.view(), static_cast<std::uint16_t>(origin->endpoint.value_or(0)), second),
                PacketOutcome::placed)
                << placement.text();
            EXPECT_EQ(second.time, place.time) << placement.text();
            EXPECT_EQ(second.heap, place.heap) << placement.text();
            EXPECT_EQ(second.offset, place.offset) << placement.text();
        }
    }
    EXPECT_GT(found, 10000U);
    // Several axes that read the heap count, or the endpoint, may have lost what they had in common.
    EXPECT_LT(shared, found / 4);
}

}  // namespace
}  // namespace spead::chunk
