// SPDX-License-Identifier: BSD-3-Clause
#include "wire/spead.hpp"

#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::Packet;

SpeadError parse_packet(const Bytes& bytes, SpeadPacket& packet) {
    const ExactCopy datagram(bytes);
    return parse_spead(datagram.data(), datagram.size(), datagram.size(), packet);
}

SpeadError parse_packet(const Bytes& bytes) {
    SpeadPacket packet{};
    return parse_packet(bytes, packet);
}

/// Returns a packet with two items, and 20 bytes in the middle of a heap of 100.
Packet sample_packet(Flavour flavour = Flavour{}) {
    Packet packet{flavour, {}, Bytes(20, 0xAB)};
    packet.specials(7, 100, 40).immediate(0x33, 9).address(0x44, 60);
    return packet;
}

TEST(Spead, GoldenEmptyHeap) {
    SpeadPacket packet{};
    ASSERT_EQ(
        parse_packet(test::from_hex("5304030500000005 8000010000000001 8000020000000001 8000030000000000"
                                    "8000040000000001 0000000000000000 00"),
                     packet),
        SpeadError::none);
    EXPECT_EQ(packet, (SpeadPacket{.heap_cnt = 1,
                                   .heap_length = 1,
                                   .payload_offset = 0,
                                   .payload_length = 1,
                                   .header_length = 48,
                                   .n_items = 5,
                                   .first_item = 4,
                                   .address_bits = 40,
                                   .flags = 0,
                                   .item_extent = 0}));
}

TEST(Spead, GoldenStopHeap) {
    SpeadPacket packet{};
    ASSERT_EQ(
        parse_packet(test::from_hex("5304030500000006 8000010000000001 8000020000000001 8000030000000000"
                                    "8000040000000001 8000060000000002 0000000000000000 00"),
                     packet),
        SpeadError::none);
    EXPECT_EQ(packet.flags, kHasControl | kHasStop | kOnlyControl);
    EXPECT_EQ(packet.n_items, 6);
    EXPECT_EQ(packet.first_item, 4);
    EXPECT_EQ(packet.header_length, 56U);
}

TEST(Spead, GoldenStartHeap) {
    SpeadPacket packet{};
    ASSERT_EQ(
        parse_packet(test::from_hex("5304020600000006 8001000000000001 8002000000000001 8003000000000000"
                                    "8004000000000001 8006000000000000 0000000000000000 00"),
                     packet),
        SpeadError::none);
    EXPECT_EQ(packet.address_bits, 48);
    EXPECT_EQ(packet.flags, kHasControl | kOnlyControl);
}

TEST(Spead, EveryFlavourIsRead) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        SpeadPacket packet{};
        ASSERT_EQ(parse_packet(sample_packet(Flavour(bits)).build(), packet), SpeadError::none) << bits;
        EXPECT_EQ(packet, (SpeadPacket{.heap_cnt = 7,
                                       .heap_length = 100,
                                       .payload_offset = 40,
                                       .payload_length = 20,
                                       .header_length = 56,
                                       .n_items = 6,
                                       .first_item = 4,
                                       .address_bits = static_cast<std::uint8_t>(bits),
                                       .flags = kHasItems,
                                       .item_extent = 60}));
    }
}

TEST(Spead, AnEmptyDatagramIsTooShort) {
    EXPECT_EQ(parse_packet({}), SpeadError::too_short);
}

TEST(Spead, ADatagramCutAnywhereIsRefused) {
    const Bytes bytes = sample_packet().build();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const SpeadError expected = length < 8    ? SpeadError::too_short
                                    : length < 56 ? SpeadError::truncated_items
                                                  : SpeadError::payload_overflow;
        EXPECT_EQ(parse_packet(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))),
                  expected)
            << length;
    }
}

TEST(Spead, AnotherMagicOrVersionIsRefused) {
    for (std::size_t byte = 0; byte < 2; ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) {
            Bytes bytes = sample_packet().build();
            bytes[byte] ^= static_cast<std::uint8_t>(1U << bit);
            EXPECT_EQ(parse_packet(bytes), SpeadError::bad_magic);
        }
}

TEST(Spead, OnlyWidthsThatAddUpTo64BitsAreAccepted) {
    for (unsigned id = 0; id < 256; ++id)
        for (unsigned address = 0; address < 256; ++address) {
            Bytes bytes = sample_packet().build();
            bytes[2] = static_cast<std::uint8_t>(id);
            bytes[3] = static_cast<std::uint8_t>(address);
            const bool good = id != 0 && address != 0 && id + address == 8;
            EXPECT_EQ(parse_packet(bytes) == SpeadError::bad_widths, !good) << id << " " << address;
        }
}

TEST(Spead, ReservedHeaderBytesAreIgnored) {
    Bytes bytes = sample_packet().build();
    bytes[4] = 0xFF;
    bytes[5] = 0x55;
    EXPECT_EQ(parse_packet(bytes), SpeadError::none);
}

TEST(Spead, MorePointersThanBytesAreRefused) {
    Bytes bytes = sample_packet().build();
    for (const unsigned count : {9U, 10U, 1000U, 65535U}) {  // 6 pointers and 20 bytes of payload hold 8
        store_be16(&bytes[6], static_cast<std::uint16_t>(count));
        EXPECT_EQ(parse_packet(bytes), SpeadError::truncated_items) << count;
    }
}

TEST(Spead, APacketWithoutPointersLacksItsSpecials) {
    EXPECT_EQ(parse_packet(Packet{}.build()), SpeadError::missing_special);
}

TEST(Spead, HeapCntPayloadOffsetAndPayloadLengthAreRequired) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
        Packet packet = sample_packet();
        packet.pointers.erase(packet.pointers.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_EQ(parse_packet(packet.build()), missing == 1 ? SpeadError::none : SpeadError::missing_special)
            << missing;
    }
}

TEST(Spead, WithoutHeapLengthTheLengthIsUnknown) {
    Packet packet = sample_packet();
    packet.pointers.erase(packet.pointers.begin() + 1);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.heap_length, kUnknownLength);
    EXPECT_EQ(parsed.first_item, 3);
}

TEST(Spead, ARequiredSpecialWithAnAddressIsNotThere) {
    for (const std::size_t index : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
        Packet packet = sample_packet();
        packet.pointers[index] &= ~(std::uint64_t{1} << 63);
        EXPECT_EQ(parse_packet(packet.build()), SpeadError::missing_special);
    }
}

TEST(Spead, AnAddressedSpecialIsARegularItem) {
    Packet packet{{}, {}, Bytes(4)};
    packet.specials(1, 4, 0).address(item::kHeapCnt, 3);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.heap_cnt, 1U);
    EXPECT_EQ(parsed.first_item, 4);
    EXPECT_EQ(parsed.flags, kHasItems);
    EXPECT_EQ(parsed.item_extent, 3U);
}

TEST(Spead, AnAddressedHeapLengthLeavesTheLengthUnknown) {
    Packet packet{{}, {}, Bytes(4)};
    packet.immediate(item::kHeapCnt, 1)
        .address(item::kHeapLength, 2)
        .immediate(item::kPayloadOffset, 0)
        .immediate(item::kPayloadLength, 4);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.heap_length, kUnknownLength);
    EXPECT_EQ(parsed.first_item, 1);
    EXPECT_EQ(parsed.item_extent, 2U);
}

TEST(Spead, OfARepeatedSpecialTheLastCounts) {
    Packet packet{{}, {}, Bytes(4)};
    packet.immediate(item::kHeapCnt, 1)
        .immediate(item::kHeapLength, 2)
        .immediate(item::kPayloadOffset, 3000)
        .immediate(item::kPayloadLength, 4000)
        .specials(11, 12, 8);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.heap_cnt, 11U);
    EXPECT_EQ(parsed.heap_length, 12U);
    EXPECT_EQ(parsed.payload_offset, 8U);
    EXPECT_EQ(parsed.payload_length, 4U);
    EXPECT_EQ(parsed.first_item, 8);
}

TEST(Spead, SpecialsMayComeInAnyOrderAndAfterItems) {
    Packet packet{{}, {}, Bytes(4)};
    packet.immediate(item::kPayloadLength, 4)
        .immediate(0x50, 1)
        .immediate(item::kPayloadOffset, 8)
        .immediate(item::kHeapLength, 12)
        .immediate(item::kHeapCnt, 5);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.heap_cnt, 5U);
    EXPECT_EQ(parsed.first_item, 1);
    EXPECT_EQ(parsed.n_items, 5);
    EXPECT_EQ(parsed.flags, kHasItems);
}

TEST(Spead, PayloadBeyondTheDatagramIsRefused) {
    for (const std::uint64_t length :
         {std::uint64_t{21}, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 20, Flavour{}.value_mask()}) {
        Packet packet = sample_packet();
        packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, length);
        packet.pointers[1] = packet.flavour.make_immediate(item::kHeapLength, ~0ULL);
        EXPECT_EQ(parse_packet(packet.build()), SpeadError::payload_overflow) << length;
    }
}

TEST(Spead, PayloadBeyondTheHeapIsRefused) {
    Packet packet = sample_packet();
    packet.pointers[2] = packet.flavour.make_immediate(item::kPayloadOffset, 80);
    EXPECT_EQ(parse_packet(packet.build()), SpeadError::none);
    packet.pointers[2] = packet.flavour.make_immediate(item::kPayloadOffset, 81);
    EXPECT_EQ(parse_packet(packet.build()), SpeadError::past_heap_length);
}

TEST(Spead, TheLargestOffsetsDoNotWrapInAnyFlavour) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        Packet packet = sample_packet(Flavour(bits));
        packet.pointers[2] = packet.flavour.make_immediate(item::kPayloadOffset, ~0ULL);
        EXPECT_EQ(parse_packet(packet.build()), SpeadError::past_heap_length);
        packet.pointers[1] = packet.flavour.make_immediate(item::kHeapLength, ~0ULL);
        EXPECT_EQ(parse_packet(packet.build()), SpeadError::past_heap_length);
        packet.pointers.erase(packet.pointers.begin() + 1);
        SpeadPacket parsed{};
        ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
        EXPECT_EQ(parsed.payload_offset, packet.flavour.value_mask());
    }
}

TEST(Spead, BytesAfterThePayloadAreRefused) {
    Bytes bytes = sample_packet().build();
    bytes.push_back(0);
    EXPECT_EQ(parse_packet(bytes), SpeadError::size_mismatch);
}

TEST(Spead, APacketAtTheStartOfMoreBytesIsReadAsAPrefix) {
    Bytes bytes = sample_packet().build();
    const std::size_t length = bytes.size();
    SpeadPacket alone{};
    ASSERT_EQ(parse_packet(bytes, alone), SpeadError::none);
    bytes.resize(length + 100);
    const ExactCopy copy(bytes);
    SpeadPacket prefix{};
    ASSERT_EQ(parse_spead_prefix(copy.data(), copy.size(), prefix), SpeadError::none);
    EXPECT_EQ(prefix, alone);
    ASSERT_EQ(parse_spead_prefix(copy.data(), length, prefix), SpeadError::none);
    EXPECT_EQ(parse_spead_prefix(copy.data(), length - 1, prefix), SpeadError::payload_overflow);
}

TEST(Spead, PayloadLengthZeroIsAccepted) {
    Packet packet;
    packet.specials(1, 0, 0).immediate(0x1000, 5);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.payload_length, 0U);
    EXPECT_EQ(parsed.heap_length, 0U);
    packet.pointers[1] = packet.flavour.make_immediate(item::kHeapLength, 10);
    packet.pointers[2] = packet.flavour.make_immediate(item::kPayloadOffset, 10);
    EXPECT_EQ(parse_packet(packet.build()), SpeadError::none);
}

TEST(Spead, AnItemAddressAtOrPastTheHeapsEndIsOnlyReported) {
    for (const std::uint64_t address : {std::uint64_t{100}, std::uint64_t{101}, Flavour{}.value_mask()}) {
        Packet packet = sample_packet();
        packet.address(0x55, address).address(0x66, 3);
        SpeadPacket parsed{};
        ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
        EXPECT_EQ(parsed.item_extent, address);
    }
}

TEST(Spead, AnAddressedNullCountsForTheExtentAndIsNoItem) {
    Packet packet{{}, {}, Bytes(8)};
    packet.specials(1, 8, 0).address(item::kNull, 6);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.item_extent, 6U);
    EXPECT_EQ(parsed.flags, 0);
    EXPECT_EQ(parsed.first_item, 4);
}

TEST(Spead, ControlBesideItemsIsNotOnlyControl) {
    Packet packet = sample_packet();
    packet.immediate(item::kStreamCtrl, stream_ctrl::kStop);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.flags, kHasControl | kHasStop | kHasItems);
}

TEST(Spead, ControlBesideNullsOfBothModesIsOnlyControl) {
    Packet packet{{}, {}, Bytes(1)};
    packet.immediate(item::kNull, 9)
        .immediate(item::kStreamCtrl, stream_ctrl::kDescriptorReissue)
        .specials(1, 1, 0)
        .address(item::kNull, 0);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.flags, kHasControl | kOnlyControl);
    EXPECT_EQ(parsed.first_item, 0);
}

TEST(Spead, OneStopAmongOtherControlsIsAStop) {
    Packet packet{{}, {}, Bytes(1)};
    packet.specials(1, 1, 0)
        .immediate(item::kStreamCtrl, stream_ctrl::kStop)
        .immediate(item::kStreamCtrl, stream_ctrl::kStart);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.flags, kHasControl | kHasStop | kOnlyControl);
}

TEST(Spead, AStopWithAnAddressIsAnItemAndNoStop) {
    Packet packet{{}, {}, Bytes(4)};
    packet.specials(1, 4, 0).address(item::kStreamCtrl, 2);
    SpeadPacket parsed{};
    ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
    EXPECT_EQ(parsed.flags, kHasItems);
}

TEST(Spead, AHeapCountAtTheWrapIsJustANumber) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        Packet packet = sample_packet(Flavour(bits));
        packet.pointers[0] = packet.flavour.make_immediate(item::kHeapCnt, ~0ULL);
        SpeadPacket parsed{};
        ASSERT_EQ(parse_packet(packet.build(), parsed), SpeadError::none);
        EXPECT_EQ(parsed.heap_cnt, packet.flavour.value_mask());
    }
}

TEST(Spead, TheNeedOfAHeadIsEightBytesUntilTheyTellMore) {
    const Bytes bytes = sample_packet().build();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const ExactCopy head(bytes, length);
        EXPECT_EQ(spead_header_need(head.data(), length), length < 8 ? 8U : 56U);
    }
}

TEST(Spead, ForeignBytesNeedNoMoreThanTheirFirstEight) {
    Bytes bytes = sample_packet().build();
    store_be16(&bytes[6], 65535);
    EXPECT_EQ(spead_header_need(bytes.data(), bytes.size()), 8U + 8U * 65535U);
    bytes[3] = 4;
    EXPECT_EQ(spead_header_need(bytes.data(), bytes.size()), 8U);
    bytes[3] = 5;
    bytes[0] = 0x54;
    EXPECT_EQ(spead_header_need(bytes.data(), bytes.size()), 8U);
}

TEST(Spead, AHeadOfWhatIsNeededIsEnough) {
    Packet packet = sample_packet();
    packet.payload = Bytes(5000, 1);
    packet.pointers[1] = packet.flavour.make_immediate(item::kHeapLength, 10000);
    packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, 5000);
    const Bytes bytes = packet.build();
    const std::size_t need = spead_header_need(bytes.data(), bytes.size());
    for (std::size_t length = 0; length <= need; ++length) {
        const ExactCopy head(bytes, length);
        SpeadPacket parsed{};
        const SpeadError error = parse_spead(head.data(), head.size(), bytes.size(), parsed);
        EXPECT_EQ(error == SpeadError::none, length == need) << length;
    }
}

TEST(Spead, ThePointersOfAParsedPacketAreWithinIt) {
    std::mt19937_64 random(4711);
    std::size_t accepted = 0;
    for (int round = 0; round < 200000; ++round) {
        Packet packet{test::any_flavour(random), {}, Bytes(random() % 64)};
        const std::size_t items = random() % 10;
        packet.specials(random(), 64, random() % 65);
        for (std::size_t i = 0; i < items; ++i)
            packet.pointers.push_back(random() % 3 == 0 ? random() : random() & ~(random() << 8));
        Bytes bytes = packet.build();
        for (std::size_t i = random() % 3; i > 0; --i)
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        if (random() % 8 == 0)
            bytes.resize(random() % (bytes.size() + 1));
        SpeadPacket parsed{};
        if (parse_packet(bytes, parsed) != SpeadError::none)
            continue;
        ++accepted;
        ASSERT_EQ(std::size_t{parsed.header_length} + parsed.payload_length, bytes.size());
        ASSERT_EQ(parsed.header_length, 8U + 8U * parsed.n_items);
        ASSERT_LE(parsed.first_item, parsed.n_items);
        ASSERT_TRUE(Flavour::is_valid(parsed.address_bits));
        if (parsed.heap_length != kUnknownLength) {
            ASSERT_LE(parsed.payload_offset + parsed.payload_length, parsed.heap_length);
        }
        const Flavour flavour(parsed.address_bits);
        for (std::size_t i = 0; i < parsed.first_item; ++i)
            ASSERT_TRUE(is_packet_special(load_pointer(bytes.data(), i), flavour));
        if (parsed.first_item < parsed.n_items) {
            ASSERT_FALSE(is_packet_special(load_pointer(bytes.data(), parsed.first_item), flavour));
        }
    }
    EXPECT_GT(accepted, 1000U);
}

TEST(Spead, EveryErrorHasAName) {
    EXPECT_EQ(name_of(SpeadError::none), "none");
    EXPECT_EQ(name_of(SpeadError::size_mismatch), "size_mismatch");
    EXPECT_EQ(name_of(static_cast<SpeadError>(200)), "unknown");
}

}  // namespace
}  // namespace spead::wire
