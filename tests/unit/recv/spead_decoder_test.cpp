// SPDX-License-Identifier: BSD-3-Clause
#include "recv/spead_decoder.hpp"

#include <gtest/gtest.h>

#include "tests/unit/recv/datagram.hpp"

namespace spead::recv::test {
namespace {

using wire::test::ExactCopy;
using wire::test::Packet;
namespace item = wire::item;

/// Returns a decoder's result in the terms of judge_datagram().
std::optional<Judged> decode(SpeadDecoder& decoder, const std::uint8_t* head, std::size_t head_length,
                             std::size_t length) {
    Judged j;
    std::uint32_t payload_at = 0;
    if (!decoder.decode(head, head_length, length, j.view, payload_at))
        return std::nullopt;
    j.payload_at = payload_at;
    j.items.assign(j.view.items, j.view.items + std::size_t{j.view.item_count} * 8);
    return j;
}
std::optional<Judged> decode(SpeadDecoder& decoder, const Bytes& datagram) {
    const ExactCopy exact(datagram);
    return decode(decoder, exact.data(), exact.size(), exact.size());
}
std::optional<Judged> judge_datagram(const Bytes& datagram) {
    return test::judge_datagram(datagram.data(), datagram.size(), datagram.size());
}

TEST(SpeadDecoder, TellsWhatAPacketSays) {
    Packet p;
    p.payload = {1, 2, 3, 4};
    p.specials(7, 100, 20).address(0x1000, 64).immediate(0x1001, 5);
    SpeadDecoder decoder;
    heap::PacketView view;
    std::uint32_t payload_at = 0;
    const Bytes datagram = p.build();
    ASSERT_TRUE(decoder.decode(datagram.data(), datagram.size(), datagram.size(), view, payload_at));
    EXPECT_EQ(view.key, 7U);
    EXPECT_EQ(view.heap_length, 100U);
    EXPECT_EQ(view.offset, 20U);
    EXPECT_EQ(view.payload_length, 4U);
    EXPECT_EQ(view.item_extent, 64U);
    EXPECT_EQ(view.item_count, 2U);
    EXPECT_EQ(view.items, datagram.data() + 8 + 4 * 8);
    EXPECT_EQ(view.flavour, 40);
    EXPECT_EQ(view.flags, heap::PacketView::kItems);
    EXPECT_EQ(payload_at, 8U + 6 * 8);
}

TEST(SpeadDecoder, LeavesOutSpecialsThatStandAmongTheItems) {
    Packet p;
    p.payload = {1};
    p.immediate(item::kHeapCnt, 7).address(0x1000, 1).immediate(item::kPayloadOffset, 3);
    p.immediate(0x1001, 9).immediate(item::kPayloadLength, 1).address(item::kHeapLength, 2);
    SpeadDecoder decoder;
    for (int again = 0; again < 3; again++) {
        const std::optional<Judged> j = decode(decoder, p.build());
        ASSERT_TRUE(j.has_value());
        EXPECT_EQ(j->view.key, 7U);
        EXPECT_EQ(j->view.heap_length, heap::kUnknownLength) << "with an address it is an ordinary item";
        EXPECT_EQ(j->view.item_count, 3U);
        EXPECT_EQ(load_be64(j->items.data()), p.pointers[1]);
        EXPECT_EQ(load_be64(j->items.data() + 8), p.pointers[3]);
        EXPECT_EQ(load_be64(j->items.data() + 16), p.pointers[5]);
    }
}

TEST(SpeadDecoder, TellsStreamControlAndStopFromData) {
    using View = heap::PacketView;
    const auto flags = [](std::uint64_t control, bool with_item) {
        Packet p;
        p.payload = {1};
        p.specials(1, 1, 0).immediate(item::kStreamCtrl, control);
        if (with_item)
            p.immediate(0x1000, 1);
        SpeadDecoder decoder;
        const auto first = decode(decoder, p.build());
        const auto again = decode(decoder, p.build());
        EXPECT_EQ(first->view.flags, again->view.flags);
        return first->view.flags;
    };
    EXPECT_EQ(flags(wire::stream_ctrl::kStart, false), View::kControl);
    EXPECT_EQ(flags(wire::stream_ctrl::kStop, false), View::kControl | View::kStop);
    EXPECT_EQ(flags(wire::stream_ctrl::kDescriptorReissue, true), View::kControl | View::kItems);
    EXPECT_EQ(flags(wire::stream_ctrl::kStop, true), View::kControl | View::kStop | View::kItems);
}

/// Tests that the decoder reads each STREAM_CTRL again. Its value decides flags, so its shape is not enough.
TEST(SpeadDecoder, LooksAtEveryStreamControlAnew) {
    SpeadDecoder decoder;
    for (const std::uint64_t control : {0U, 2U, 1U, 2U, 2U, 3U, 0U}) {
        Packet p;
        p.payload = {1};
        p.specials(1, 1, 0).immediate(item::kStreamCtrl, control);
        EXPECT_EQ(decode(decoder, p.build()), judge_datagram(p.build())) << control;
    }
}

TEST(SpeadDecoder, RefusesWhatTheParserRefuses) {
    Packet good;
    good.payload = Bytes(50, 0xAB);
    good.specials(3, 1000, 100).address(0x1000, 0);
    const Bytes right = good.build();
    SpeadDecoder decoder;
    std::size_t refused = 0;
    for (std::size_t at = 0; at < right.size() - 50; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            ASSERT_TRUE(decode(decoder, right).has_value());
            Bytes wrong = right;
            wrong[at] = static_cast<std::uint8_t>(wrong[at] ^ 1U << bit);
            const std::optional<Judged> got = decode(decoder, wrong);
            ASSERT_EQ(got, judge_datagram(wrong)) << "byte " << at << ", bit " << bit;
            refused += !got.has_value();
        }
    EXPECT_GT(refused, 100U);
    for (std::size_t length = 0; length < right.size(); length++)
        EXPECT_FALSE(
            decode(decoder, Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length))));
    Bytes longer = right;
    longer.push_back(0);
    EXPECT_FALSE(decode(decoder, longer));
}

/// Tests shapes that take turns in every rhythm: pairs, triples, the same again, refused ones between. In any
/// order, the decoder must return the parser's result.
TEST(SpeadDecoder, SaysWhatTheParserSaysOfShapesInAnyOrder) {
    for (std::uint32_t seed = 1; seed <= 60; seed++) {
        Random random(seed);
        std::vector<Packet> shapes(1 + random() % 4);
        for (Packet& shape : shapes)
            shape = any_packet(random);
        SpeadDecoder decoder;
        for (int i = 0; i < 300; i++) {
            Packet p = shapes[random() % shapes.size()];
            // Other values in the same shape; they may well contradict each other.
            for (std::uint64_t& pointer : p.pointers)
                if (random() % 4 == 0)
                    pointer =
                        (pointer & ~p.flavour.value_mask()) | (random() & p.flavour.value_mask() & 0xFF);
            if (random() % 2 == 0)
                for (std::uint64_t& pointer : p.pointers)
                    if (p.flavour.is_immediate(pointer) && p.flavour.id(pointer) == item::kPayloadLength)
                        pointer = p.flavour.make_immediate(item::kPayloadLength, p.payload.size());
            const Bytes datagram = p.build();
            ASSERT_EQ(decode(decoder, datagram), judge_datagram(datagram))
                << "seed " << seed << ", packet " << i;
        }
    }
}

/// Tests the head of a packet in several segments, of which only the header is contiguous.
TEST(SpeadDecoder, NeedsNoMoreThanTheHeader) {
    Random random(5);
    SpeadDecoder decoder;
    for (int i = 0; i < 500; i++) {
        const Bytes datagram = any_packet(random).build();
        const std::size_t need =
            std::min(datagram.size(), decoder.header_need(datagram.data(), datagram.size()));
        const ExactCopy head(datagram, need);
        ASSERT_EQ(decode(decoder, head.data(), head.size(), datagram.size()), judge_datagram(datagram));
        ASSERT_TRUE(judge_datagram(datagram).has_value());
    }
}

TEST(SpeadDecoder, TakesTheMostItemPointersADatagramCanHold) {
    Packet p;
    p.specials(1, 0, 0);
    const std::size_t most = (wire::kMaxUdpPayload - 8) / 8;
    for (std::size_t i = p.pointers.size(); i < most - 1; i++)
        p.immediate(0x1000 + i, i);
    p.immediate(item::kHeapCnt, 9);  // behind the items: the words have to be moved together
    SpeadDecoder decoder;
    const Bytes datagram = p.build();
    ASSERT_LE(datagram.size(), wire::kMaxUdpPayload);
    const std::optional<Judged> j = decode(decoder, datagram);
    ASSERT_TRUE(j.has_value());
    EXPECT_EQ(j->view.key, 9U);
    EXPECT_EQ(j->view.item_count, most - 5);
    EXPECT_EQ(j, judge_datagram(datagram));
}

}  // namespace
}  // namespace spead::recv::test
