// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/placer.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/chunk/made_packet.hpp"
#include "tests/unit/chunk/random_placement.hpp"

namespace spead::chunk {
namespace {

constexpr const char* kDigitiser =
    "heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [8192]; extra u16: item 0x3102 >> 32";

MadePacket digitiser_packet(std::uint64_t timestamp, std::uint64_t id, std::uint64_t status = 0) {
    MadePacket packet(5120);
    packet.immediate(0x1600, timestamp).immediate(0x3101, id).immediate(0x3102, status).address(0x3300, 0);
    return packet;
}

/// Returns the outcome of a packet with the value of item 0x1000, on an axis `x` before the time.
PacketOutcome outcome_of(const std::string& axis, std::uint64_t value, std::uint64_t* heap = nullptr) {
    Placer placer(Placement::parse("heap 8; axis x: item 0x1000 " + axis + "; time: heap [1]"));
    MadePacket packet(8);
    packet.immediate(0x1000, value);
    Place place;
    const PacketOutcome outcome = placer.place(packet.view(), 0, place);
    if (heap != nullptr)
        *heap = place.heap;
    return outcome;
}

TEST(Placer, PlacesADigitisersPacket) {
    Placer placer(Placement::parse(kDigitiser));
    MadePacket packet = digitiser_packet((3 * 8192 + 7) * 4096ULL, 0x5, 0x1234'0000'0000);
    Place place;
    ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
    EXPECT_EQ(place.heap, 8192U);
    EXPECT_EQ(place.offset, 8192U * 5120);
    EXPECT_EQ(place.time, 3 * 8192U + 7);
    EXPECT_EQ(placer.wrap(), 1ULL << 36);
    const Placer::Time time = placer.split(place.time);
    EXPECT_EQ(time.id, 3);
    EXPECT_EQ(time.heap, 7U);
    EXPECT_EQ(time.offset, 7U * 5120);
    std::array<std::byte, 3> extra{};
    placer.write_extras(packet.view(), 0, extra.data());
    std::uint16_t saturated = 0;
    std::memcpy(&saturated, extra.data(), 2);
    EXPECT_EQ(saturated, 0x1234);
    EXPECT_EQ(extra[2], std::byte{0});
}

TEST(Placer, FindsItemsWhereverTheyAre) {
    Placer placer(Placement::parse(kDigitiser));
    std::mt19937_64 random(1);
    Place place;
    for (int i = 0; i < 20000; i++) {
        MadePacket packet(5120, std::array<unsigned, 3>{48, 40, 32}[random() % 3]);
        std::vector<std::uint64_t> words = {packet.flavour().make_immediate(0x1600, 4096 * 9),
                                            packet.flavour().make_immediate(0x3101, 1),
                                            packet.flavour().make_immediate(0x3102, 7)};
        for (std::size_t more = random() % 40; more > 0; more--)
            words.push_back(packet.flavour().make_address(0x1600 + random() % 3, random()));
        std::shuffle(words.begin(), words.end(), random);
        for (const std::uint64_t word : words)
            packet.word(word);
        ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
        EXPECT_EQ(place.heap, 8192U);
        EXPECT_EQ(place.time, 9U);
        EXPECT_TRUE(placer.has_items(packet.view()));
    }
}

TEST(Placer, WantsEveryItemAsAnImmediate) {
    Placer placer(Placement::parse(kDigitiser));
    Place place;
    for (const std::uint64_t missing : {0x1600U, 0x3101U, 0x3102U})
        for (const bool address : {false, true}) {
            // The placer remembers where the items of a whole packet were.
            EXPECT_EQ(placer.place(digitiser_packet(0, 0).view(), 0, place), PacketOutcome::placed);
            MadePacket packet(5120);
            for (const std::uint64_t id : {0x1600U, 0x3101U, 0x3102U})
                if (id != missing)
                    packet.immediate(id, 0);
                else if (address)
                    packet.address(id, 0);
            EXPECT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::no_item);
            EXPECT_FALSE(placer.has_items(packet.view()));
        }
    EXPECT_EQ(placer.place(MadePacket(5120).view(), 0, place), PacketOutcome::no_item);
    // The words behind a packet's items are not looked at.
    EXPECT_EQ(placer.place(digitiser_packet(0, 0).view(), 0, place), PacketOutcome::placed);
    for (std::uint32_t count = 0; count < 3; count++) {
        MadePacket shorter = digitiser_packet(0, 0);
        shorter.view().item_count = count;
        EXPECT_EQ(placer.place(shorter.view(), 0, place), PacketOutcome::no_item) << count;
    }
    MadePacket strange = digitiser_packet(0, 0);
    for (const unsigned flavour : {0U, 1U, 7U, 47U, 49U, 63U, 64U, 112U, 255U}) {
        strange.view().flavour = static_cast<std::uint8_t>(flavour);
        EXPECT_EQ(placer.place(strange.view(), 0, place), PacketOutcome::no_item) << flavour;
    }
}

TEST(Placer, TakesNoIdOfAnotherWidthForItsOwn) {
    // With 56 bits of value, ids have 7 bits: an id of 8 bits looks like a mode bit and another id.
    Placer placer(Placement::parse("heap 8; time: item 0x80 [1]; wrap 64"));
    Place place;
    for (const std::uint64_t raw : {0ULL, 0x80ULL << 56, 0xFFULL << 56, 0x7FULL << 56}) {
        MadePacket packet(8, 56);
        packet.word(raw);
        EXPECT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::no_item) << raw;
    }
    MadePacket packet(8, 48);
    packet.immediate(0x80, 3);
    EXPECT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
}

TEST(Placer, FindsSixteenItems) {
    std::string text = "heap 8; time: item 0x1000 [4]";
    MadePacket packet(8);
    packet.immediate(0x1000, 2);
    for (int i = 1; i < 8; i++) {
        text += "; axis a" + std::to_string(i) + ": item " + std::to_string(0x1000 + i * 256) + " [2]";
        packet.immediate(0x1000 + static_cast<std::uint64_t>(i) * 256, 1);
    }
    for (int i = 0; i < 8; i++) {
        text += "; extra u8: item " + std::to_string(0x2000 + i);
        packet.immediate(0x2000 + static_cast<std::uint64_t>(i), 40 + static_cast<std::uint64_t>(i));
    }
    Placer placer(Placement::parse(text));
    Place place;
    ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
    EXPECT_EQ(place.heap, 127U);
    std::array<std::uint8_t, 8> extra{};
    placer.write_extras(packet.view(), 0, reinterpret_cast<std::byte*>(extra.data()));
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(extra[static_cast<std::size_t>(i)], 40 + i);
}

TEST(Placer, RefusesOtherLengths) {
    Placer placer(Placement::parse("heap 5120; time: heap [8]"));
    const struct {
        std::uint64_t heap, offset;
        std::uint32_t payload;
        PacketOutcome outcome;
    } cases[] = {
        {5120, 0, 5120, PacketOutcome::placed},
        {5120, 4096, 1024, PacketOutcome::placed},
        {5120, 5120, 0, PacketOutcome::placed},
        {5119, 0, 5119, PacketOutcome::bad_length},
        {5121, 0, 5120, PacketOutcome::bad_length},
        {0, 0, 0, PacketOutcome::bad_length},
        {heap::kUnknownLength, 0, 5120, PacketOutcome::placed},
        {heap::kUnknownLength, 1, 5120, PacketOutcome::bad_length},
        {heap::kUnknownLength, 5121, 0, PacketOutcome::bad_length},
        {heap::kUnknownLength, 0, 5121, PacketOutcome::bad_length},
        {heap::kUnknownLength, ~0ULL, 1, PacketOutcome::bad_length},
        {heap::kUnknownLength, ~0ULL - 1023, 1024, PacketOutcome::bad_length},
        {5120, ~0ULL, ~0U, PacketOutcome::bad_length},
    };
    for (const auto& c : cases) {
        MadePacket packet(c.heap);
        packet.view().offset = c.offset;
        packet.view().payload_length = c.payload;
        Place place;
        EXPECT_EQ(placer.place(packet.view(), 0, place), c.outcome) << c.heap << " " << c.offset;
    }
}

TEST(Placer, ChecksEveryTerm) {
    constexpr auto kPlaced = PacketOutcome::placed;
    constexpr auto kStep = PacketOutcome::bad_step;
    constexpr auto kRange = PacketOutcome::out_of_range;
    constexpr std::uint64_t kMost = (1ULL << 48) - 1;
    const struct {
        const char* axis;
        std::uint64_t value;
        PacketOutcome outcome;
        std::uint64_t place;
    } cases[] = {
        {"[4]", 3, kPlaced, 3},
        {"[4]", 4, kRange, 0},
        {"[4]", kMost, kRange, 0},
        {"& 3 [4]", kMost, kPlaced, 3},
        {">> 46 [4]", kMost, kPlaced, 3},
        {">> 48 [4]", kMost, kPlaced, 0},
        {">> 63 [4]", kMost, kPlaced, 0},
        {"- 10 [4]", 13, kPlaced, 3},
        {"- 10 [4]", 14, kRange, 0},
        {"- 10 [4]", 9, kRange, 0},
        {"- 18446744073709551615 [4]", kMost, kRange, 0},
        {"/ 8 [4]", 24, kPlaced, 3},
        {"/ 8 [4]", 25, kStep, 0},
        {"/ 8 [4]", 33, kStep, 0},
        {"/ 8 [4]", 32, kRange, 0},
        {"/ 9 [4]", 27, kPlaced, 3},
        {"/ 9 [4]", 28, kStep, 0},
        {"/ 9 [4]", 36, kRange, 0},
        {"- 1 / 9 [4]", 28, kPlaced, 3},
        {"- 1 / 9 [4]", 0, kRange, 0},
        {"// 8 [4]", 31, kPlaced, 3},
        {"// 8 [4]", 32, kRange, 0},
        {"// 9 [4]", 35, kPlaced, 3},
        {"// 9 [4]", 36, kRange, 0},
        {"/ 18446744073709551615 [4]", 0, kPlaced, 0},
        {"/ 18446744073709551615 [4]", 1, kStep, 0},
        {"/ 9223372036854775808 [4]", 0, kPlaced, 0},
        {"/ 9223372036854775808 [4]", kMost, kStep, 0},
        {"// 9223372036854775809 [4]", kMost, kPlaced, 0},
        {"[268435456]", 268435455, kPlaced, 268435455},
        {"[268435456]", 268435456, kRange, 0},
        {"{5, 3, 281474976710655, 0}", 5, kPlaced, 0},
        {"{5, 3, 281474976710655, 0}", 3, kPlaced, 1},
        {"{5, 3, 281474976710655, 0}", kMost, kPlaced, 2},
        {"{5, 3, 281474976710655, 0}", 0, kPlaced, 3},
        {"{5, 3, 281474976710655, 0}", 4, kStep, 0},
        {">> 4 & 15 {5, 3}", 0x1035, kPlaced, 1},
    };
    for (const auto& c : cases) {
        std::uint64_t heap = 0;
        EXPECT_EQ(outcome_of(c.axis, c.value, &heap), c.outcome) << c.axis << " " << c.value;
        if (c.outcome == kPlaced) {
            EXPECT_EQ(heap, c.place) << c.axis << " " << c.value;
        }
    }
}

TEST(Placer, UsesHeapCountEndpointAndConstant) {
    Placer placer(
        Placement::parse("heap 8; axis e: endpoint // 2 [3]; axis c: constant 4 [5]; time: heap - 1 [16]"));
    MadePacket packet(8);
    packet.view().key = 33;
    Place place;
    ASSERT_EQ(placer.place(packet.view(), 5, place), PacketOutcome::placed);
    EXPECT_EQ(place.heap, (2 * 5 + 4) * 16U);
    EXPECT_EQ(place.offset, (2 * 5 + 4) * 16U * 8);
    EXPECT_EQ(place.time, 32U);
    EXPECT_EQ(placer.place(packet.view(), 6, place), PacketOutcome::out_of_range);
    packet.view().key = 1ULL << 48;
    EXPECT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::out_of_range);
}

TEST(Placer, ReportsTheTimeFirstThenTheOutermostAxis) {
    Placer placer(Placement::parse(
        "heap 8; axis a: item 0x1000 / 2 [2]; axis b: item 0x1001 [2]; time: item 0x1002 / 4 [2]"));
    const auto outcome = [&](std::uint64_t length, std::uint64_t a, std::uint64_t b, std::uint64_t time) {
        MadePacket packet(length);
        packet.immediate(0x1000, a).immediate(0x1001, b).immediate(0x1002, time);
        Place place;
        return placer.place(packet.view(), 0, place);
    };
    EXPECT_EQ(outcome(8, 4, 2, 1), PacketOutcome::bad_step);
    EXPECT_EQ(outcome(8, 4, 2, 1ULL << 47), PacketOutcome::out_of_range);
    EXPECT_EQ(outcome(8, 1, 2, 0), PacketOutcome::bad_step);
    EXPECT_EQ(outcome(8, 4, 2, 0), PacketOutcome::out_of_range);
    EXPECT_EQ(outcome(9, 4, 2, 1), PacketOutcome::bad_length);
    EXPECT_EQ(outcome(8, 2, 1, 4), PacketOutcome::placed);
}

TEST(Placer, WrapsTheTime) {
    // Numbers go on through the wrap, also with a first value: 2^20 / 2^4 of them.
    Placer placer(Placement::parse("heap 8; time: item 0x1600 - 32 / 16 [4]; wrap 20"));
    EXPECT_EQ(placer.wrap(), 1U << 16);
    for (std::uint64_t n = 0; n < (3U << 16); n += 1 + n % 7) {
        MadePacket packet(8);
        packet.immediate(0x1600, (32 + n * 16) & 0xFFFFF);
        Place place;
        ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
        ASSERT_EQ(place.time, n & 0xFFFF);
    }
    Place place;
    MadePacket beyond(8);
    beyond.immediate(0x1600, 1U << 20);
    EXPECT_EQ(placer.place(beyond.view(), 0, place), PacketOutcome::out_of_range);

    Placer endless(Placement::parse("heap 8; time: item 0x1600 - 32 / 16 [4]; wrap 64"));
    EXPECT_EQ(endless.wrap(), 0U);
    MadePacket before(8);
    before.immediate(0x1600, 16);
    EXPECT_EQ(endless.place(before.view(), 0, place), PacketOutcome::out_of_range);
}

TEST(Placer, FollowsATimeWhoseStepDoesNotDivideItsRange) {
    for (const char* text : {"heap 8; time: item 0x1600 - 77 / 1000 [7]; wrap 20",
                             "heap 8; time: item 0x1600 - 77 // 1000 [7]; wrap 20"}) {
        Placer placer(Placement::parse(text));
        EXPECT_EQ(placer.wrap(), 0U);
        Place place;
        for (std::uint64_t n = 0; n < 10'000; n++) {
            MadePacket packet(8);
            packet.immediate(0x1600, (77 + n * 1000) & 0xFFFFF);
            ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed) << n;
            ASSERT_EQ(place.time, n);
            // Late packets belong to the numbers before.
            const std::uint64_t late = n - std::min<std::uint64_t>(n, 400);
            packet.clear();
            packet.immediate(0x1600, (77 + late * 1000) & 0xFFFFF);
            ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed) << n;
            ASSERT_EQ(place.time, late);
            placer.follow(n);
        }
    }
    // A sender that begins anew is not mistaken for a broken one.
    Placer placer(Placement::parse("heap 8; time: item 0x1600 / 1000 [7]; wrap 20"));
    placer.follow(9'000);
    Place place;
    MadePacket packet(8);
    packet.immediate(0x1600, 3000);
    ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
    EXPECT_EQ(place.time, 3U);
    packet.clear();
    packet.immediate(0x1600, 3001);
    EXPECT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::bad_step);
    // A number beyond every range changes nothing.
    placer.follow(~0ULL);
    placer.follow(1ULL << 62);
    packet.clear();
    packet.immediate(0x1600, (9'001'000) & 0xFFFFF);
    ASSERT_EQ(placer.place(packet.view(), 0, place), PacketOutcome::placed);
    EXPECT_EQ(place.time, 9'001U);
}

TEST(Placer, SplitsAsDivisionDoes) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; i++) {
        const std::uint64_t count = 1 + random() % (i < 100 ? 100 : Placement::kMaxHeaps);
        Placer placer(Placement::parse("heap 3; time: heap [" + std::to_string(count) + "]"));
        for (int k = 0; k < 1000; k++) {
            const std::uint64_t n = k < 10 ? count * static_cast<unsigned>(k) - (k > 5 ? 1 : 0)
                                           : (random() >> (1 + random() % 62));
            const Placer::Time time = placer.split(n);
            ASSERT_EQ(time.id, static_cast<std::int64_t>(n / count)) << n << " " << count;
            ASSERT_EQ(time.heap, n % count) << n << " " << count;
            ASSERT_EQ(time.offset, n % count * 3);
        }
    }
}

TEST(Placer, DividesAsDivisionDoes) {
    std::mt19937_64 random(8);
    Place place;
    for (int i = 0; i < 2000; i++) {
        const std::uint64_t step = 1 + (random() >> (random() % 63));
        Placer placer(Placement::parse("heap 3; time: item 0x1600 [1]; axis x: heap / " +
                                       std::to_string(step) + " [268435456]; axis y: heap // " +
                                       std::to_string(step) + " [1]"));
        MadePacket packet(3);
        packet.immediate(0x1600, 0);
        for (int k = 0; k < 500; k++) {
            const std::uint64_t n =
                k % 2 == 0 ? random() >> (random() % 64) : step * (random() % 9) + random() % 2;
            packet.view().key = n;
            const PacketOutcome expected = n % step != 0   ? PacketOutcome::bad_step
                                           : n / step >= 1 ? PacketOutcome::out_of_range
                                                           : PacketOutcome::placed;
            ASSERT_EQ(placer.place(packet.view(), 0, place), expected) << n << " / " << step;
        }
    }
}

TEST(Placer, WritesExtraValues) {
    Placer placer(
        Placement::parse("heap 8; time: heap [1]; extra u8: item 0x1000; extra u64: item 0x1001; extra u16: "
                         "item 0x1002 - 5 / 2; extra u32: item 0x1003 {7, 9}; extra u8: constant 300"));
    EXPECT_EQ(placer.layout().extra_bytes, 16U);
    const auto written = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
        MadePacket packet(8);
        packet.immediate(0x1000, a).immediate(0x1001, b).immediate(0x1002, c).immediate(0x1003, d);
        std::array<std::byte, 16> to{};
        placer.write_extras(packet.view(), 0, to.data());
        std::array<std::uint64_t, 5> values{};
        std::size_t at = 0;
        for (std::size_t i = 0; i < 5; i++) {
            const std::size_t bytes = std::array<std::size_t, 5>{1, 8, 2, 4, 1}[i];
            std::memcpy(&values[i], &to[at], bytes);  // little-endian
            at += bytes;
        }
        return values;
    };
    static_assert(std::endian::native == std::endian::little);
    using Values = std::array<std::uint64_t, 5>;
    EXPECT_EQ(written(0x1FF, 0xFFFFFFFFFFFF, 9, 9), (Values{0xFF, 0xFFFFFFFFFFFF, 2, 1, 300 & 0xFF}));
    EXPECT_EQ(written(0, 0, 5, 7), (Values{0, 0, 0, 0, 44}));
    // Numbers that the terms cannot compute.
    EXPECT_EQ(written(1, 2, 4, 8), (Values{1, 2, 0xFFFF, 0xFFFFFFFF, 44}));
    EXPECT_EQ(written(1, 2, 6, 7), (Values{1, 2, 0xFFFF, 0, 44}));

    // A packet without items: only the constant is known.
    std::array<std::byte, 16> to{};
    placer.write_extras(MadePacket(8).view(), 0, to.data());
    for (std::size_t i = 0; i < 15; i++)
        EXPECT_EQ(to[i], std::byte{0xFF});
    EXPECT_EQ(to[15], std::byte{44});
}

}  // namespace
}  // namespace spead::chunk
