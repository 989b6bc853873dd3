// SPDX-License-Identifier: BSD-3-Clause
#include "wire/utf.hpp"

#include <gtest/gtest.h>

namespace spead::wire {
namespace {

std::string utf8(std::uint32_t code_point) {
    std::string out;
    append_utf8(out, code_point);
    return out;
}

TEST(Utf, EveryLengthHasItsBytes) {
    EXPECT_EQ(utf8('A'), "A");
    EXPECT_EQ(utf8(0xE9), "\xC3\xA9");
    EXPECT_EQ(utf8(0x20AC), "\xE2\x82\xAC");
    EXPECT_EQ(utf8(0x1F52D), "\xF0\x9F\x94\xAD");
}

TEST(Utf, WhatIsNoCodePointIsReplaced) {
    for (const std::uint32_t c : {0xD800U, 0xDFFFU, 0x110000U, 0xFFFFFFFFU})
        EXPECT_EQ(utf8(c), utf8(0xFFFD));
}

TEST(Utf, EveryCodePointIsReadBack) {
    for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        const auto back = utf8_to_utf32(utf8(c));
        ASSERT_TRUE(back && back->size() == 1 && (*back)[0] == c) << c;
    }
}

TEST(Utf, TextThatIsNotWellFormedIsRefused) {
    for (const std::string_view text :
         {"\x80", "\xC3", "a\xE2\x82", "\xF0\x9F\x94", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
          "\xF4\x90\x80\x80", "\xF8\x80\x80\x80\x80", "\xFF", "\xC3\x28"})
        EXPECT_FALSE(utf8_to_utf32(text));
    EXPECT_EQ(utf8_to_utf32(""), U"");
}

}  // namespace
}  // namespace spead::wire
