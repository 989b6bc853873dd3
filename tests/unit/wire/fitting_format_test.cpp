// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fitting_format.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"

namespace spead::wire::fitting_format_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<DatagramHead> heads_of(const std::vector<Bytes>& datagrams) {
    RefusedHeads refused;
    for (const Bytes& d : datagrams)
        refused.note(d.data(), d.size(), d.size());
    return {refused.all.begin(), refused.all.begin() + static_cast<std::ptrdiff_t>(datagrams.size())};
}

std::string_view fit(const std::vector<Bytes>& datagrams) {
    return fitting_format(heads_of(datagrams));
}

Bytes vdif(bool legacy, std::uint8_t frame, std::uint8_t content = 0x5A) {
    Bytes d(8032, content);
    std::fill_n(d.begin(), legacy ? 16 : 32, std::uint8_t{0});
    d[0] = 7;
    d[3] = legacy ? 0x40 : 0;
    d[4] = frame;
    d[8] = 8032 / 8 % 256;
    d[9] = 8032 / 8 / 256;
    return d;
}

Bytes pst() {
    Bytes d(600, 0);
    d[60] = 0xED;
    d[61] = 0xFE;
    d[62] = 0xAD;
    d[63] = 0xBE;
    return d;
}

Bytes ata(std::uint8_t content = 0xA5) {
    Bytes d(16 + 512, content);
    const Bytes header{1, 2, 0, 64, 0, 128, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5};
    std::copy(header.begin(), header.end(), d.begin());
    return d;
}

Bytes spead() {
    Bytes d(100, 0x77);
    store_be64(d.data(), 0x5304030500000004);
    return d;
}

TEST(FittingFormat, NamesTheOneThatFits) {
    EXPECT_EQ(fit({vdif(false, 1), vdif(false, 2)}), "vdif");
    EXPECT_EQ(fit({vdif(true, 1), vdif(true, 2), vdif(true, 3)}), "vdif_legacy");
    EXPECT_EQ(fit({pst()}), "pst") << "a header of zeros is one of ata, too";
    EXPECT_EQ(fit({ata()}), "ata");
    EXPECT_EQ(fit({spead(), spead()}), kSpeadName);
}

TEST(FittingFormat, NamesNoneThatDoesNotFitAll) {
    EXPECT_EQ(fit({}), "");
    EXPECT_EQ(fit({vdif(false, 1), spead()}), "");
    EXPECT_EQ(fit({vdif(false, 1), Bytes(200, 0xFF)}), "");
    EXPECT_EQ(fit({Bytes(200, 0xFF)}), "");
    EXPECT_EQ(fit({ata(), pst(), vdif(false, 1)}), "") << "all three have a header that ata could have";
    EXPECT_EQ(fit({ata(), vdif(false, 1)}), "");
    EXPECT_EQ(fit({Bytes(3, 0)}), "");
    EXPECT_EQ(fit({Bytes{}}), "");
}

TEST(FittingFormat, NamesNoneWhereSeveralFit) {
    EXPECT_EQ(fit({Bytes(200, 0)}), "") << "zeros are a packet of ata, and one of snap2";
    EXPECT_EQ(fit({ata(0)}), "");
}

TEST(FittingFormat, JudgesNoHeaderThatItDoesNotHave) {
    const Bytes d = vdif(false, 1);
    RefusedHeads refused;
    refused.note(d.data(), 20, d.size());
    EXPECT_EQ(fitting_format({refused.all.data(), 1}), "");
}

TEST(RefusedHeads, KeepsTheFirstOnesAndFewOfALotOfThem) {
    RefusedHeads refused;
    const Bytes first(200, 1);
    const Bytes later(10, 2);
    for (std::size_t i = 0; i < RefusedHeads::kKept; i++)
        refused.note(first.data(), first.size(), first.size());
    for (const DatagramHead& h : refused.all) {
        EXPECT_EQ(h.length, 200U);
        EXPECT_EQ(h.have, DatagramHead::kMost);
        EXPECT_EQ(h.bytes.back(), 1);
    }
    for (std::uint64_t i = RefusedHeads::kKept; i < RefusedHeads::kOneOf; i++)
        refused.note(later.data(), later.size(), later.size());
    for (const DatagramHead& h : refused.all)
        EXPECT_EQ(h.length, 200U);
    for (std::uint64_t i = 0; i < RefusedHeads::kKept * RefusedHeads::kOneOf; i++)
        refused.note(later.data(), later.size(), later.size());
    for (const DatagramHead& h : refused.all) {
        EXPECT_EQ(h.length, 10U);
        EXPECT_EQ(h.have, 10U);
        EXPECT_EQ(h.bytes[0], 2);
    }
}

}  // namespace
}  // namespace spead::wire::fitting_format_test
