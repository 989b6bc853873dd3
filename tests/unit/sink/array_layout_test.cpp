// SPDX-License-Identifier: BSD-3-Clause
#include "sink/array_layout.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::sink::unit_test {
namespace {

using chunk::Placement;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename F>
std::string refusal_of(const F& use) {
    try {
        use();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "was not refused";
}

TEST(ElementType, ReadsTheWordsOfNumpy) {
    for (const char* text : {"|u1", "|i1", "<i2", ">u4", "<u8", ">f2", "<f4", ">f8", "<c8", ">c16"})
        EXPECT_EQ(ElementType::parse(text).text(), text);
    EXPECT_EQ(ElementType::parse("u1").text(), "|u1");
    EXPECT_EQ(ElementType::parse("<i1").text(), "|i1");
    for (const char* text : {"", "u", "<", "f4", "|f4", "<f16", "<i3", "<c4", ">c32", "<S4", "i4 ", "<i/"})
        EXPECT_THAT(refusal_of([&] { ElementType::parse(text, "dtype"); }), HasSubstr("as in >f4")) << text;
}

template <typename T>
T value_of(std::vector<std::byte> bytes, bool reversed) {
    if (reversed)
        std::reverse(bytes.begin(), bytes.end());
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

TEST(ElementType, FillsWithNanOrNothing) {
    EXPECT_TRUE(std::isnan(value_of<float>(ElementType::parse("<f4").fill(), false)));
    EXPECT_TRUE(std::isnan(value_of<double>(ElementType::parse(">f8").fill(), true)));
    const auto both = value_of<std::complex<float>>(ElementType::parse("<c8").fill(), false);
    EXPECT_TRUE(std::isnan(both.real()) && std::isnan(both.imag()));
    const auto big = value_of<std::complex<double>>(ElementType::parse(">c16").fill(), true);
    EXPECT_TRUE(std::isnan(big.real()) && std::isnan(big.imag()));
    EXPECT_EQ(value_of<std::uint32_t>(ElementType::parse(">i4").fill(), false), 0U);
}

TEST(ArrayLayout, HasTheAxesOfThePlacement) {
    const auto layout = array_layout(
        Placement::parse("heap 4096; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 256 [8]"),
        ElementType::parse(">i2"), "");
    EXPECT_THAT(layout.axes, ElementsAre(ArrayAxis{"pol", 2, 32768}, ArrayAxis{"time", 8, 4096},
                                         ArrayAxis{"element", 2048, 2}));
    EXPECT_EQ(layout.time, 1U);
    EXPECT_EQ(layout.bytes(), 65536U);
}

TEST(ArrayLayout, OrdersAxesAndRowsAsTheyLieInMemory) {
    const auto layout = array_layout(
        Placement::parse("heap 65536; axis row: item 0x4101 [80]; time: item 0x1600 / 2097152 [128] by 512; "
                         "rows 512 by 65536"),
        ElementType::parse("<c8"), "");
    EXPECT_THAT(layout.axes, ElementsAre(ArrayAxis{"row", 80, 128 * 65536}, ArrayAxis{"row_", 128, 65536},
                                         ArrayAxis{"time", 128, 512}, ArrayAxis{"element", 64, 8}));
    EXPECT_EQ(layout.time, 2U);
}

TEST(ArrayLayout, RefusesGapsAndElementsThatDoNotFit) {
    const auto gaps =
        Placement::parse("heap 4096; axis pol: item 0x3101 [2] by 50000; time: item 0x1600 [8]");
    EXPECT_THAT(refusal_of([&] { array_layout(gaps, {}, "p"); }),
                HasSubstr("`pol` lie 50000 bytes apart and take 32768"));
    const auto odd = Placement::parse("heap 4098; time: item 0x1600 [8]");
    EXPECT_THAT(refusal_of([&] { array_layout(odd, ElementType::parse("<f4"), "p"); }),
                HasSubstr("heaps have 4098 bytes"));
    const auto rows = Placement::parse("heap 4096; time: item 0x1600 [8] by 2; rows 2 by 16");
    EXPECT_THAT(refusal_of([&] { array_layout(rows, ElementType::parse("<f4"), "p"); }),
                HasSubstr("rows of heaps have 2 bytes"));
}

TEST(Column, IsAPartOfAnAxis) {
    EXPECT_EQ(parse_column("chan", ""), (Column{"chan", 0, 1}));
    EXPECT_EQ(parse_column("chan", "2/3"), (Column{"chan", 2, 3}));
    for (const char* text : {"2", "3/3", "/3", "1/", "-1/3", "0/0", "0/4097", "1/2/3", "a/b"})
        EXPECT_NE(refusal_of([&] { parse_column("chan", text); }), "was not refused") << text;
    const auto p = Placement::parse(
        "heap 4; axis chan: item 0x4103 / 4 [2]; axis odd: item 0x4104 {1, 3}; time: item 0x1600 [8]");
    EXPECT_NO_THROW(check_column(p, {}, ""));
    EXPECT_NO_THROW(check_column(p, {"chan", 0, 2}, ""));
    EXPECT_THAT(refusal_of([&] { check_column(p, {"time", 0, 2}, ""); }), HasSubstr("is the time"));
    EXPECT_THAT(refusal_of([&] { check_column(p, {"odd", 0, 2}, ""); }), HasSubstr("in a list"));
    EXPECT_THAT(refusal_of([&] { check_column(p, {"beam", 0, 2}, ""); }), HasSubstr("no axis `beam`"));
}

}  // namespace
}  // namespace spead::sink::unit_test
