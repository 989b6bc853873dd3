// SPDX-License-Identifier: BSD-3-Clause
#include "recv/format_decoder.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "recv/spead_decoder.hpp"
#include "tests/unit/recv/datagram.hpp"

namespace spead::recv::format_decoder_test {
namespace {

const wire::PacketFormat kFormat = wire::PacketFormat::parse(
    "header 8; field n: u32 at 0; field bad: u8 at 4; invalid bad = 9; item 0x1600: n * 2; count n");

std::vector<std::uint8_t> datagram(std::uint32_t n, std::uint8_t bad = 0, std::size_t payload = 5) {
    std::vector<std::uint8_t> d(8 + payload, 0x11);
    store_be32(d.data(), n);
    d[4] = bad;
    return d;
}

TEST(FormatDecoder, MakesAHeapOfEachPacket) {
    FormatDecoder decoder(kFormat);
    EXPECT_EQ(decoder.header(), 8U);
    const auto d = datagram(77);
    heap::PacketView view;
    std::uint32_t at = 0;
    ASSERT_EQ(decoder.decode(d.data(), d.size(), view, at), PacketOutcome::placed);
    EXPECT_EQ(view.key, 77U);
    EXPECT_EQ(view.heap_length, 5U);
    EXPECT_EQ(view.offset, 0U);
    EXPECT_EQ(view.payload_length, 5U);
    EXPECT_EQ(view.flavour, 48U);
    EXPECT_EQ(view.flags, heap::PacketView::kItems);
    ASSERT_EQ(view.item_count, 1U);
    EXPECT_EQ(load_be64(view.items), 1ULL << 63 | 0x1600ULL << 48 | 154);
    EXPECT_EQ(at, 8U);
}

TEST(FormatDecoder, SaysWhyItRefuses) {
    FormatDecoder decoder(kFormat);
    heap::PacketView view;
    std::uint32_t at = 0;
    const auto marked = datagram(1, 9);
    EXPECT_EQ(decoder.decode(marked.data(), marked.size(), view, at), PacketOutcome::invalid);
    EXPECT_EQ(decoder.decode(marked.data(), 7, view, at), PacketOutcome::malformed);
}

TEST(FormatDecoder, KeepsTheItemsOfABatch) {
    FormatDecoder decoder(kFormat);
    std::vector<heap::PacketView> views(FormatDecoder::kKept);
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < views.size(); i++) {
        const auto d = datagram(i);
        ASSERT_EQ(decoder.decode(d.data(), d.size(), views[i], at), PacketOutcome::placed);
        decoder.keep_items();
        const auto refused = datagram(i, 9);
        ASSERT_EQ(decoder.decode(refused.data(), refused.size(), views[i], at), PacketOutcome::invalid);
    }
    for (std::uint32_t i = 0; i < views.size(); i++)
        EXPECT_EQ(load_be64(views[i].items) & 0xFFFFFFFF, 2 * i);
}

TEST(FormatDecoder, WritesTheItemsOfAllOthersInOnePlace) {
    FormatDecoder decoder(kFormat);
    heap::PacketView first;
    heap::PacketView second;
    std::uint32_t at = 0;
    const auto d = datagram(1);
    ASSERT_EQ(decoder.decode(d.data(), d.size(), first, at), PacketOutcome::placed);
    ASSERT_EQ(decoder.decode(d.data(), d.size(), second, at), PacketOutcome::placed);
    EXPECT_EQ(first.items, second.items);
}

TEST(FormatDecoder, TakesThePlaceOfSpead) {
    SpeadDecoder decoder;
    EXPECT_TRUE(decoder.learns());
    EXPECT_FALSE(decoder.keeps_items());
    decoder.use(kFormat);
    EXPECT_FALSE(decoder.learns());
    EXPECT_TRUE(decoder.keeps_items());
    EXPECT_EQ(decoder.header_need(nullptr, 0), 8U);
    heap::PacketView view;
    std::uint32_t at = 0;
    const auto d = datagram(3);
    EXPECT_TRUE(decoder.decode(d.data(), d.size(), d.size(), view, at));
    EXPECT_EQ(view.key, 3U);
    const auto spead = test::MadeHeap{.cnt = 5, .length = 100}.datagrams()[0];
    ASSERT_TRUE(decoder.decode(spead.data(), spead.size(), spead.size(), view, at));
    EXPECT_EQ(view.key >> 16, 0x5304U) << "its first word, whatever SPEAD means by it";
    const auto marked = datagram(3, 9);
    EXPECT_FALSE(decoder.decode(marked.data(), marked.size(), marked.size(), view, at));
    EXPECT_EQ(decoder.refusal(), PacketOutcome::invalid);
}

}  // namespace
}  // namespace spead::recv::format_decoder_test
