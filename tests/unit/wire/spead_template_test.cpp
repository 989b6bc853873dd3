// SPDX-License-Identifier: BSD-3-Clause
#include "wire/spead_template.hpp"

#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::Packet;

/// Returns a template that has learned `bytes`, which must be a good packet.
SpeadTemplate learned_from(const Bytes& bytes) {
    SpeadPacket packet{};
    EXPECT_EQ(parse_spead(bytes.data(), bytes.size(), bytes.size(), packet), SpeadError::none);
    SpeadTemplate shape;
    shape.learn(bytes.data(), packet);
    return shape;
}

bool matches(const SpeadTemplate& shape, const Bytes& bytes) {
    const ExactCopy copy(bytes);
    SpeadPacket packet{};
    return shape.match(copy.data(), copy.size(), copy.size(), packet);
}

Packet template_sample(Flavour flavour = Flavour{}) {
    Packet packet{flavour, {}, Bytes(20)};
    packet.specials(7, 100, 40).immediate(0x33, 9).address(0x44, 60);
    return packet;
}

TEST(SpeadTemplate, MatchesNothingBeforeItHasLearned) {
    const SpeadTemplate shape;
    EXPECT_FALSE(shape.learned());
    EXPECT_FALSE(matches(shape, template_sample().build()));
    EXPECT_FALSE(matches(shape, {}));
}

TEST(SpeadTemplate, MatchesThePacketItLearned) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Bytes bytes = template_sample(Flavour(bits)).build();
        const SpeadTemplate shape = learned_from(bytes);
        EXPECT_TRUE(shape.learned());
        EXPECT_TRUE(matches(shape, bytes));
    }
}

TEST(SpeadTemplate, OtherValuesOfTheSameShapeMatchAndAreReadAnew) {
    const SpeadTemplate shape = learned_from(template_sample().build());
    Packet next{{}, {}, Bytes(30)};
    next.specials(8, 200, 60).immediate(0x33, 10).address(0x44, 199);
    const Bytes bytes = next.build();
    SpeadPacket parsed{}, matched{};
    ASSERT_EQ(parse_spead(bytes.data(), bytes.size(), bytes.size(), parsed), SpeadError::none);
    ASSERT_TRUE(shape.match(bytes.data(), bytes.size(), bytes.size(), matched));
    EXPECT_EQ(matched, parsed);
}

TEST(SpeadTemplate, ShapeAndValuesTellWhatAMatchTells) {
    const SpeadTemplate shape = learned_from(template_sample().build());
    Packet next{{}, {}, Bytes(30)};
    next.specials(8, 200, 60).immediate(0x33, 10).address(0x44, 199);
    const Bytes bytes = next.build();
    SpeadPacket matched{};
    SpeadTemplate::Values values{};
    ASSERT_TRUE(shape.match(bytes.data(), bytes.size(), bytes.size(), matched));
    ASSERT_TRUE(shape.match_values(bytes.data(), bytes.size(), bytes.size(), values));
    SpeadPacket composed = shape.shape();
    composed.heap_cnt = values.heap_cnt;
    composed.heap_length = values.heap_length;
    composed.payload_offset = values.payload_offset;
    composed.payload_length = values.payload_length;
    composed.item_extent = values.item_extent;
    EXPECT_EQ(composed, matched);
    EXPECT_FALSE(shape.match_values(bytes.data(), bytes.size(), bytes.size() - 1, values));
}

TEST(SpeadTemplate, AShapeWithoutHeapLengthIsLearned) {
    Packet packet = template_sample();
    packet.pointers.erase(packet.pointers.begin() + 1);
    const Bytes bytes = packet.build();
    const SpeadTemplate shape = learned_from(bytes);
    SpeadPacket matched{};
    ASSERT_TRUE(shape.match(bytes.data(), bytes.size(), bytes.size(), matched));
    EXPECT_EQ(matched.heap_length, kUnknownLength);
}

TEST(SpeadTemplate, LearnsAgainFromAShapeWithHeapLengthToOneWithout) {
    Packet packet = template_sample();
    SpeadTemplate shape = learned_from(packet.build());
    packet.pointers.erase(packet.pointers.begin() + 1);
    const Bytes bytes = packet.build();
    EXPECT_FALSE(matches(shape, bytes));
    SpeadPacket parsed{}, matched{};
    ASSERT_EQ(parse_spead(bytes.data(), bytes.size(), bytes.size(), parsed), SpeadError::none);
    shape.learn(bytes.data(), parsed);
    ASSERT_TRUE(shape.match(bytes.data(), bytes.size(), bytes.size(), matched));
    EXPECT_EQ(matched, parsed);
    EXPECT_FALSE(matches(shape, template_sample().build()));
}

TEST(SpeadTemplate, AnyOtherModeOrIdDoesNotMatch) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Packet packet = template_sample(Flavour(bits));
        const SpeadTemplate shape = learned_from(packet.build());
        for (std::size_t i = 0; i < packet.pointers.size(); ++i)
            for (unsigned bit = bits; bit < 64; ++bit) {
                Packet other = packet;
                other.pointers[i] ^= std::uint64_t{1} << bit;
                EXPECT_FALSE(matches(shape, other.build())) << i << " " << bit;
            }
    }
}

TEST(SpeadTemplate, AnyOtherHeaderDoesNotMatch) {
    const Bytes bytes = template_sample().build();
    const SpeadTemplate shape = learned_from(bytes);
    for (std::size_t bit = 0; bit < 64; ++bit) {
        Bytes other = bytes;
        other[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        EXPECT_FALSE(matches(shape, other)) << bit;
    }
}

TEST(SpeadTemplate, ADatagramOfAnotherLengthDoesNotMatch) {
    const Bytes bytes = template_sample().build();
    const SpeadTemplate shape = learned_from(bytes);
    for (std::size_t length = 0; length < bytes.size() + 20; ++length) {
        Bytes other = bytes;
        other.resize(length);
        EXPECT_EQ(matches(shape, other), length == bytes.size()) << length;
    }
}

TEST(SpeadTemplate, AHeadWithoutAllPointersDoesNotMatchAndIsNotReadBeyond) {
    const Bytes bytes = template_sample().build();
    const SpeadTemplate shape = learned_from(bytes);
    for (std::size_t length = 0; length <= 56; ++length) {
        const ExactCopy head(bytes, length);
        SpeadPacket packet{};
        EXPECT_EQ(shape.match(head.data(), length, bytes.size(), packet), length == 56) << length;
    }
}

TEST(SpeadTemplate, ValuesThatBreakARuleDoNotMatch) {
    const SpeadTemplate shape = learned_from(template_sample().build());
    Packet packet = template_sample();
    packet.pointers[2] = packet.flavour.make_immediate(item::kPayloadOffset, 81);
    EXPECT_FALSE(matches(shape, packet.build())) << "past the heap";
    packet = template_sample();
    packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, 21);
    EXPECT_FALSE(matches(shape, packet.build())) << "past the datagram";
    packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, 19);
    EXPECT_FALSE(matches(shape, packet.build())) << "trailing bytes";
    packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, (std::uint64_t{1} << 32) + 20);
    EXPECT_FALSE(matches(shape, packet.build())) << "32 bits";
}

TEST(SpeadTemplate, APayloadOfMoreThan32BitsIsLeftToTheGeneralParser) {
    Packet packet = template_sample();
    const SpeadTemplate shape = learned_from(packet.build());
    const std::uint64_t length = (std::uint64_t{1} << 32) + 20;
    packet.pointers[1] = packet.flavour.make_immediate(item::kHeapLength, 2 * length);
    packet.pointers[3] = packet.flavour.make_immediate(item::kPayloadLength, length);
    const Bytes bytes = packet.build();
    SpeadPacket parsed{}, matched{};
    EXPECT_EQ(parse_spead(bytes.data(), bytes.size(), 56 + length, parsed), SpeadError::payload_overflow);
    EXPECT_FALSE(shape.match(bytes.data(), bytes.size(), 56 + length, matched));
}

TEST(SpeadTemplate, ShapesWithStreamControlAreNotLearned) {
    Packet packet = template_sample();
    packet.immediate(item::kStreamCtrl, stream_ctrl::kStart);
    const Bytes bytes = packet.build();
    const SpeadTemplate shape = learned_from(bytes);
    EXPECT_FALSE(shape.learned());
    EXPECT_FALSE(matches(shape, bytes));
}

TEST(SpeadTemplate, UpToSixteenPointersAreLearned) {
    for (std::size_t pointers = 4; pointers <= 20; ++pointers) {
        Packet packet{{}, {}, Bytes(20)};
        packet.specials(7, 100, 40);
        while (packet.pointers.size() < pointers)
            packet.address(0x1000 + packet.pointers.size(), packet.pointers.size());
        const Bytes bytes = packet.build();
        EXPECT_EQ(matches(learned_from(bytes), bytes), pointers <= 16) << pointers;
    }
}

TEST(SpeadTemplate, ForgettingMatchesNothing) {
    const Bytes bytes = template_sample().build();
    SpeadTemplate shape = learned_from(bytes);
    shape.forget();
    EXPECT_FALSE(shape.learned());
    EXPECT_FALSE(matches(shape, bytes));
}

/// Makes packets of a few shapes whose values are often at the edges of the rules.
class RandomPackets {
  public:
    Bytes next() {
        Packet packet{random_() % 2 != 0 ? Flavour{} : test::any_flavour(random_), {}, Bytes(random_() % 40)};
        const std::uint64_t shape = random_() % 6;
        const std::uint64_t heap_length = packet.payload.size() + random_() % 3;
        if (shape == 0) {
            packet.immediate(item::kPayloadLength, packet.payload.size())
                .immediate(item::kPayloadOffset, random_() % 3)
                .immediate(0x77, random_())
                .immediate(item::kHeapCnt, random_());
        } else {
            packet.specials(random_(), heap_length, random_() % 3);
        }
        for (std::uint64_t i = random_() % (shape + 1); i > 0; --i) {
            const std::uint64_t id = random_() % 8;
            random_() % 4 != 0 ? packet.address(id, random_() % 50) : packet.immediate(id, random_() % 50);
        }
        Bytes bytes = packet.build();
        if (random_() % 4 == 0)
            bytes[random_() % bytes.size()] ^= static_cast<std::uint8_t>(1U << random_() % 8);
        if (random_() % 8 == 0)
            bytes.resize(random_() % (bytes.size() + 4));
        return bytes;
    }

  private:
    std::mt19937_64 random_{99};
};

TEST(SpeadTemplate, AMatchIsAlwaysWhatTheGeneralParserSays) {
    RandomPackets packets;
    SpeadTemplate shape;
    std::size_t matched_count = 0, refused = 0;
    for (int round = 0; round < 300000; ++round) {
        const Bytes bytes = packets.next();
        const ExactCopy copy(bytes);
        SpeadPacket parsed{}, matched{};
        const SpeadError error = parse_spead(copy.data(), copy.size(), copy.size(), parsed);
        const bool match = shape.match(copy.data(), copy.size(), copy.size(), matched);
        if (match) {
            ++matched_count;
            ASSERT_EQ(error, SpeadError::none);
            ASSERT_EQ(matched, parsed);
        }
        if (error != SpeadError::none) {
            ++refused;
            continue;
        }
        shape.learn(copy.data(), parsed);
        const bool again = shape.match(copy.data(), copy.size(), copy.size(), matched);
        ASSERT_EQ(again, (parsed.flags & kHasControl) == 0 && parsed.n_items <= SpeadTemplate::kMaxPointers);
        if (again) {
            ASSERT_EQ(matched, parsed);
        }
    }
    EXPECT_GT(matched_count, 1000U);
    EXPECT_GT(refused, 1000U);
}

TEST(SpeadTemplate, APacketOfTheShapeMatchesExactlyWhenTheGeneralParserAcceptsIt) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 100000; ++round) {
        const Flavour flavour = test::any_flavour(random);
        Packet first{flavour, {}, Bytes(8)};
        first.specials(1, 8, 0).address(0x21, 4).immediate(0x22, 1).address(item::kNull, 7);
        const SpeadTemplate shape = learned_from(first.build());
        Packet other = first;
        for (std::uint64_t& pointer : other.pointers)  // any values, mostly small
            pointer = (pointer & ~flavour.value_mask()) |
                      ((random() % 8 == 0 ? random() : random() % 12) & flavour.value_mask());
        other.payload.resize(random() % 12);
        const Bytes bytes = other.build();
        SpeadPacket parsed{};
        ASSERT_EQ(matches(shape, bytes),
                  parse_spead(bytes.data(), bytes.size(), bytes.size(), parsed) == SpeadError::none);
    }
}

}  // namespace
}  // namespace spead::wire
