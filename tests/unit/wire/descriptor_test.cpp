// SPDX-License-Identifier: BSD-3-Clause
#include "wire/descriptor.hpp"

#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::Packet;

Bytes encode(const Descriptor& descriptor, Flavour flavour = Flavour{}, unsigned bug_compat = 0) {
    const auto out = encode_descriptor(descriptor, flavour, bug_compat);
    EXPECT_TRUE(out) << name_of(out.error());
    return out.value_or(Bytes{});
}

tl::expected<Descriptor, DescriptorError> decode(const Bytes& bytes, unsigned bug_compat = 0) {
    const ExactCopy copy(bytes);
    return decode_descriptor({copy.data(), copy.size()}, bug_compat);
}

DescriptorError decode_error(const Bytes& bytes) {
    const auto out = decode(bytes);
    EXPECT_FALSE(out);
    return out ? DescriptorError::count_ : out.error();
}

Descriptor sample() {
    Descriptor out;
    out.id = 0x1234;
    out.name = "ab";
    out.description = "c";
    out.format = {{'u', 16}};
    out.shape = {4, std::nullopt};
    return out;
}

Descriptor numpy_sample() {
    Descriptor out;
    out.id = 0x1000;
    out.name = "x";
    out.numpy_header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}";
    return out;
}

const char* const kGolden =
    "5304030500000009 8000010000000001 8000020000000013 8000030000000000 8000040000000013 8000140000001234"
    "0000100000000000 0000110000000002 0000130000000003 0000120000000007"
    "6162 63 75000010 000000000004 010000000000";

const char* const kGoldenPySpead =
    "5304030500000009 8000010000000001 8000020000000017 8000030000000000 8000040000000017 8000140000001234"
    "0000100000000000 0000110000000002 0000130000000003 0000120000000007"
    "6162 63 75000010 0000000000000004 0200000000000000";

TEST(Descriptor, GoldenBytesBothWays) {
    EXPECT_EQ(encode(sample()), test::from_hex(kGolden));
    EXPECT_EQ(decode(test::from_hex(kGolden)), sample());
}

TEST(Descriptor, GoldenBytesOfPySpeadBothWays) {
    EXPECT_EQ(encode(sample(), Flavour{}, kBugCompatPySpead052), test::from_hex(kGoldenPySpead));
    EXPECT_EQ(decode(test::from_hex(kGoldenPySpead), kBugCompatPySpead052), sample());
}

TEST(Descriptor, GoldenBytesOf64With48AddressBits) {
    // Fields of 3 bytes, dimensions of 7.
    EXPECT_EQ(
        encode(sample(), Flavour(48)),
        test::from_hex("5304020600000009 8001000000000001 8002000000000014 8003000000000000 8004000000000014"
                       "8014000000001234 0010000000000000 0011000000000002 0013000000000003 0012000000000006"
                       "6162 63 750010 00000000000004 01000000000000"));
}

TEST(Descriptor, WithANumpyHeaderThereIsATenthPointer) {
    const Bytes bytes = encode(numpy_sample());
    EXPECT_EQ(load_be16(&bytes[6]), 10);
    EXPECT_EQ(load_pointer(bytes.data(), 9), Flavour{}.make_address(item::kDescriptorDtype, 1));
    EXPECT_EQ(decode(bytes), numpy_sample());
}

TEST(Descriptor, AnEmptyOneHasAllPointersAndNoBytes) {
    Descriptor empty;
    empty.id = 1;
    const Bytes bytes = encode(empty);
    EXPECT_EQ(bytes.size(), 8U + 9 * 8);
    EXPECT_EQ(decode(bytes), empty);
}

TEST(Descriptor, ANumpyHeaderStandsInThePlaceOfFormatAndShape) {
    Descriptor both = numpy_sample();
    both.format = {{'f', 32}};
    both.shape = {5};
    EXPECT_EQ(decode(encode(both)), numpy_sample());
}

TEST(Descriptor, EveryFlavourAndDeviationIsReadBack) {
    for (unsigned bits = 8; bits <= 56; bits += 8)
        for (unsigned bug_compat = 0; bug_compat < 8; ++bug_compat) {
            Descriptor descriptor = sample();
            descriptor.id = std::min<std::uint64_t>(Flavour(bits).max_id(), bits == 8 ? 0xFF : 0x1234);
            descriptor.format.push_back({'i', 6});
            EXPECT_EQ(decode(encode(descriptor, Flavour(bits), bug_compat), bug_compat), descriptor)
                << bits << " " << bug_compat;
        }
}

TEST(Descriptor, IdsThatDoNotFitTheFlavourAreRefused) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Flavour flavour(bits);
        Descriptor descriptor;
        for (const std::uint64_t id : {std::uint64_t{0}, flavour.max_id() + 1, ~std::uint64_t{0}}) {
            descriptor.id = id;
            const auto out = encode_descriptor(descriptor, flavour);
            ASSERT_FALSE(out);
            EXPECT_EQ(out.error(), DescriptorError::bad_id);
        }
        descriptor.id = std::min(flavour.max_id(), flavour.value_mask());
        EXPECT_EQ(decode(encode(descriptor, flavour)), descriptor);
    }
}

TEST(Descriptor, IdsThatAnImmediateCannotHoldAreRefused) {
    Descriptor descriptor;
    descriptor.id = 256;
    const auto out = encode_descriptor(descriptor, Flavour(8));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), DescriptorError::bad_id);
}

TEST(Descriptor, FormatsAndDimensionsThatDoNotFitTheirFieldsAreRefused) {
    Descriptor descriptor = sample();
    descriptor.id = 1;
    descriptor.format = {{'u', 256}};
    EXPECT_TRUE(encode_descriptor(descriptor, Flavour(48)));
    auto out = encode_descriptor(descriptor, Flavour(56));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), DescriptorError::format_too_big);
    descriptor.format.clear();
    descriptor.shape = {256};
    EXPECT_TRUE(encode_descriptor(descriptor, Flavour(16)));
    EXPECT_TRUE(encode_descriptor(descriptor, Flavour(8), kBugCompatDescriptorWidths));
    out = encode_descriptor(descriptor, Flavour(8));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), DescriptorError::dimension_too_big);
    descriptor.shape = {~0ULL};
    out = encode_descriptor(descriptor, Flavour(56));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), DescriptorError::dimension_too_big);
}

TEST(Descriptor, TextsLongerThanAnAddressCanSayAreRefused) {
    Descriptor descriptor = numpy_sample();
    descriptor.id = 1;
    descriptor.numpy_header.clear();
    descriptor.description = std::string(254, 'd');
    EXPECT_EQ(decode(encode(descriptor, Flavour(8))), descriptor);
    descriptor.description += "d";
    const auto out = encode_descriptor(descriptor, Flavour(8));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), DescriptorError::too_long);
}

TEST(Descriptor, CutAnywhereItIsNoPacket) {
    const Bytes bytes = encode(sample());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_EQ(decode_error(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))),
                  DescriptorError::not_a_packet);
}

TEST(Descriptor, BytesAfterThePacketAreIgnored) {
    Bytes bytes = encode(sample());
    bytes.resize(bytes.size() + 7);
    EXPECT_EQ(decode(bytes), sample());
}

TEST(Descriptor, APartOfALargerHeapIsIncomplete) {
    Packet packet{{}, {}, Bytes(4)};
    packet.specials(1, 8, 0).immediate(item::kDescriptorId, 9);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::incomplete);
    packet.pointers.clear();
    packet.specials(1, 8, 4).immediate(item::kDescriptorId, 9);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::incomplete);
    packet.pointers.erase(packet.pointers.begin() + 1);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::incomplete) << "without a heap length";
}

TEST(Descriptor, AHeapLengthIsNotRequired) {
    Packet packet{{}, {}, {'n', 'a'}};
    packet.specials(1, 2, 0).immediate(item::kDescriptorId, 9).address(item::kDescriptorName, 0);
    packet.pointers.erase(packet.pointers.begin() + 1);
    const auto out = decode(packet.build());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->name, "na");
}

TEST(Descriptor, AnItemPastTheEndSpoilsIt) {
    Packet packet{{}, {}, {'n', 'a'}};
    packet.specials(1, 2, 0).immediate(item::kDescriptorId, 9).address(item::kDescriptorName, 3);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::item_past_end);
}

TEST(Descriptor, WithoutAnImmediateIdItIsNone) {
    Packet packet{{}, {}, Bytes(8, 1)};
    packet.specials(1, 8, 0).address(item::kDescriptorId, 0);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::no_id);
    packet.immediate(item::kDescriptorId, 0);
    EXPECT_EQ(decode_error(packet.build()), DescriptorError::no_id);
}

TEST(Descriptor, UnknownItemsAreIgnored) {
    Packet packet{{}, {}, {'n', 'a', 'x'}};
    packet.specials(1, 3, 0)
        .immediate(item::kDescriptorId, 9)
        .address(item::kDescriptorName, 0)
        .address(0x7777, 2)
        .immediate(0x16, 3);
    const auto out = decode(packet.build());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->name, "na");
}

TEST(Descriptor, PartsMayBeImmediates) {
    Packet packet;
    packet.specials(1, 0, 0)
        .immediate(item::kDescriptorId, 9)
        .immediate(item::kDescriptorName, 0x6162636465)
        .immediate(item::kDescriptorFormat, 0x7500000C00);
    const auto out = decode(packet.build());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->name, "abcde");
    EXPECT_EQ(out->format, (std::vector<FieldFormat>{{'u', 12}}));
}

TEST(Descriptor, APartOfAFieldAtTheEndIsIgnored) {
    Packet packet{{}, {}, test::from_hex("75000010 6900")};
    packet.specials(1, 6, 0).immediate(item::kDescriptorId, 9).address(item::kDescriptorFormat, 0);
    auto out = decode(packet.build());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->format, (std::vector<FieldFormat>{{'u', 16}}));
    packet.pointers.back() = packet.flavour.make_address(item::kDescriptorShape, 0);
    out = decode(packet.build());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->shape.size(), 1U);
}

TEST(Descriptor, DamagedBytesNeverGiveMoreThanTheyHold) {
    std::mt19937 random(12);
    const Bytes base = encode(sample());
    std::size_t accepted = 0;
    for (int round = 0; round < 100000; ++round) {
        Bytes bytes = base;
        for (std::size_t i = 1 + random() % 3; i > 0; --i)
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        const auto out = decode(bytes, random() % 8);
        if (!out)
            continue;
        ++accepted;
        ASSERT_LE(out->name.size() + out->description.size() + out->numpy_header.size() +
                      2 * (out->format.size() + out->shape.size()),
                  bytes.size());
    }
    EXPECT_GT(accepted, 1000U);
}

TEST(Descriptor, EveryErrorHasAName) {
    EXPECT_EQ(name_of(DescriptorError::not_a_packet), "not_a_packet");
    EXPECT_EQ(name_of(DescriptorError::too_long), "too_long");
    EXPECT_EQ(name_of(DescriptorError::count_), "unknown");
}

}  // namespace
}  // namespace spead::wire
