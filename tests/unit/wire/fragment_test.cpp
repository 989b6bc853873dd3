// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fragment.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fragments.hpp"
#include "tests/unit/wire/frames6.hpp"

namespace spead::wire::fragment_test {
namespace {

using spead::test::cut;
using test::Bytes;
using test::ExactCopy;
using test::Frame;
using test::Frame6;

std::optional<FragmentView> parse(const Bytes& frame) {
    const ExactCopy exact(frame);
    FragmentView view{};
    return parse_fragment(exact.data(), exact.size(), view) ? std::optional(view) : std::nullopt;
}

Bytes long_payload() {
    return Bytes(3000, 'x');
}

Bytes frame4(std::size_t ihl = 5, std::vector<std::uint16_t> tags = {}) {
    return Frame{.tags = std::move(tags), .ihl = ihl, .payload = long_payload()}.build();
}

Bytes frame6(std::vector<std::uint16_t> tags = {}) {
    return Frame6{.tags = std::move(tags), .payload = long_payload()}.build();
}

/// Returns one fragment of a frame.
Bytes one(const Bytes& frame, std::size_t begin, std::size_t end, bool more, std::uint32_t id = 0x1234) {
    return cut(frame, id, {{begin, end, more}}).front();
}

TEST(Fragment, OfIpv4IsReadWhereverItBegins) {
    for (const std::size_t tags : {0U, 1U, 2U})
        for (const std::size_t ihl : {5U, 6U, 15U}) {
            const auto first =
                parse(one(frame4(ihl, std::vector<std::uint16_t>(tags, kEtherTypeQinQ)), 0, 1480, true));
            ASSERT_TRUE(first) << tags << " tags, " << ihl << " words";
            EXPECT_TRUE(first->is_first());
            EXPECT_EQ(first->l2_length, 14 + 4 * tags);
            EXPECT_EQ(first->l3_length, 4 * ihl);
            EXPECT_EQ(first->src_port, 50000);
            EXPECT_EQ(first->dst_port, 7148);
            EXPECT_EQ(first->frame_length(), 14 + 4 * tags + 4 * ihl + 1480);
        }
    const auto later = parse(one(frame4(), 1480, 2960, true));
    ASSERT_TRUE(later);
    EXPECT_EQ(later->source, IpAddress(0x0A000007U));
    EXPECT_EQ(later->destination, IpAddress(0xEF010203U));
    EXPECT_EQ(later->id, 0x1234U);
    EXPECT_EQ(later->begin, 1480U);
    EXPECT_EQ(later->end, 2960U);
    EXPECT_TRUE(later->more);
    EXPECT_FALSE(later->ipv6);
    const auto last = parse(one(frame4(), 2960, 3008, false));
    ASSERT_TRUE(last);
    EXPECT_FALSE(last->more);
}

TEST(Fragment, OfIpv6IsReadWhereverItBegins) {
    for (const std::size_t tags : {0U, 1U, 2U}) {
        const auto first =
            parse(one(frame6(std::vector<std::uint16_t>(tags, kEtherTypeVlan)), 0, 1448, true));
        ASSERT_TRUE(first) << tags;
        EXPECT_EQ(first->l2_length, 14 + 4 * tags);
        EXPECT_EQ(first->l3_length, 48);
        EXPECT_EQ(first->dst_port, 7148);
    }
    const auto last = parse(one(frame6(), 1448, 3008, false, 0xDEADBEEF));
    ASSERT_TRUE(last);
    EXPECT_EQ(last->source, IpAddress(Ipv6{0xFD00000000000000, 7}));
    EXPECT_EQ(last->destination, IpAddress(Ipv6{0xFF15000000000000, 1}));
    EXPECT_EQ(last->id, 0xDEADBEEF);
    EXPECT_EQ(last->begin, 1448U);
    EXPECT_FALSE(last->more);
    EXPECT_TRUE(last->ipv6);
}

TEST(Fragment, PaddingIsNotPartOfIt) {
    for (Bytes f : {one(frame4(), 2960, 2968, false), one(frame6(), 2960, 2968, false)}) {
        const std::size_t length = f.size();
        f.resize(length + 30);
        const auto view = parse(f);
        ASSERT_TRUE(view);
        EXPECT_EQ(view->length(), 8U);
        EXPECT_EQ(view->frame_length(), length);
    }
}

TEST(Fragment, WholeDatagramsAreNone) {
    EXPECT_FALSE(parse(frame4()));
    EXPECT_FALSE(parse(frame6()));
    EXPECT_FALSE(parse(one(frame4(), 0, 3008, false)));
    EXPECT_FALSE(parse(one(frame6(), 0, 3008, false))) << "the only fragment (RFC 6946)";
}

TEST(Fragment, EveryTruncationIsRefused) {
    for (const Bytes& f : {one(frame4(), 0, 16, true), one(frame6(), 0, 16, true),
                           one(frame4(6, {kEtherTypeVlan}), 8, 16, true)})
        for (std::size_t length = 0; length < f.size(); length++)
            EXPECT_FALSE(parse(Bytes(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(length)))) << length;
}

TEST(Fragment, OddLengthsAreOnlyForTheLast) {
    for (const Bytes& f : {frame4(), frame6()}) {
        EXPECT_FALSE(parse(one(f, 8, 8, true))) << "nothing";
        EXPECT_FALSE(parse(one(f, 8, 8, false))) << "nothing";
        for (std::size_t length = 1; length < 8; length++) {
            EXPECT_FALSE(parse(one(f, 8, 8 + length, true))) << length;
            EXPECT_FALSE(parse(one(f, 0, length, true))) << "no UDP header: " << length;
            EXPECT_TRUE(parse(one(f, 8, 8 + length, false))) << length;
        }
        EXPECT_TRUE(parse(one(f, 0, 8, true))) << "just the UDP header";
    }
}

TEST(Fragment, NothingGoesBeyondTheLargestDatagram) {
    EXPECT_TRUE(parse(one(frame4(), 65512, 65515, false)));
    EXPECT_FALSE(parse(one(frame4(), 65512, 65516, false)));
    EXPECT_FALSE(parse(one(frame4(15), 65472, 65476, false))) << "options are part of the length";
    EXPECT_FALSE(parse(one(frame4(), 65528, 65536, true)));
    EXPECT_TRUE(parse(one(frame6(), 65528, 65535, false)));
    EXPECT_FALSE(parse(one(frame6(), 65528, 65536, false)));
}

TEST(Fragment, OtherProtocolsAreRefused) {
    Bytes f = one(frame4(), 8, 16, true);
    f[23] = 6;
    EXPECT_FALSE(parse(f));
    f = one(frame6(), 8, 16, true);
    f[54] = 6;
    EXPECT_FALSE(parse(f));
    f = one(frame6(), 8, 16, true);
    f[20] = 0;
    EXPECT_FALSE(parse(f)) << "options before the fragment header";
    f = one(frame6(), 8, 16, true);
    f[22] = 0xFF;
    EXPECT_FALSE(parse(f)) << "a group is no source";
    f = one(frame4(), 8, 16, true);
    f[14] = 0x65;
    EXPECT_FALSE(parse(f));
    f = one(frame4(), 8, 16, true);
    f[12] = 0x86;
    EXPECT_FALSE(parse(f));
    EXPECT_FALSE(parse(one(frame4(5, {kEtherTypeVlan, kEtherTypeVlan, kEtherTypeVlan}), 8, 16, true)));
}

}  // namespace
}  // namespace spead::wire::fragment_test
