// SPDX-License-Identifier: BSD-3-Clause
#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(IsText, AcceptsEveryLengthOfSequence) {
    EXPECT_TRUE(is_text(""));
    EXPECT_TRUE(is_text("plain\tand\x7f"));
    EXPECT_TRUE(is_text("\xc2\x80\xdf\xbf"));                      // U+0080, U+07FF
    EXPECT_TRUE(is_text("\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf"));  // U+0800, U+D7FF, U+FFFF
    EXPECT_TRUE(is_text("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));      // U+10000, U+10FFFF
}

TEST(IsText, RefusesWhatIsNotUtf8) {
    for (const char* bytes : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf",
                              "\xe1\x80", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                              "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xfe"})
        EXPECT_FALSE(is_text(bytes)) << bytes;
}

TEST(IsText, RefusesNul) {
    EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
}

TEST(Utf8Length, IsOfTheFirstCharacter) {
    EXPECT_EQ(utf8_length(""), 0U);
    EXPECT_EQ(utf8_length("ab"), 1U);
    EXPECT_EQ(utf8_length("\xc3\xa4x"), 2U);
    EXPECT_EQ(utf8_length("\xe2\x82\xac\xff"), 3U);
    EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
    EXPECT_EQ(utf8_length("\xa4x"), 0U);
}

}  // namespace
}  // namespace spead
