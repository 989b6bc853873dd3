// SPDX-License-Identifier: BSD-3-Clause
#include "base/text_reader.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

constexpr std::array<std::string_view, 2> kSigns{"==", ">>"};
constexpr TextReader::Kind kKind{"text", ".", kSigns};

std::string error_of(std::string_view text, std::string_view extra = {}) {
    try {
        TextReader(kKind, text, "here").fail("a word", extra);
    } catch (const UsageError& error) {
        return error.what();
    }
}

TEST(TextReader, SplitsWordsAndSigns) {
    TextReader reader(kKind, " a_1.b==c>>>=\t\n/x\r", "here");
    const std::vector<std::pair<std::string, std::size_t>> expected = {
        {"a_1.b", 1}, {"==", 6}, {"c", 8}, {">>", 9}, {">", 11}, {"=", 12}, {"/", 15}, {"x", 16}, {"", 18}};
    for (const auto& [token, at] : expected) {
        EXPECT_EQ(reader.token(), token);
        EXPECT_EQ(reader.at(), at);
        reader.next();
    }
    EXPECT_EQ(reader.token(), "");
    EXPECT_EQ(TextReader(kKind, "", "").token(), "");
}

TEST(TextReader, TakesOnlyTheWordAsked) {
    TextReader reader(kKind, "one two", "here");
    EXPECT_FALSE(reader.take("two"));
    EXPECT_TRUE(reader.take("one"));
    EXPECT_TRUE(reader.take("two"));
    EXPECT_FALSE(reader.take("two"));
}

TEST(TextReader, ReadsNumbers) {
    TextReader reader(kKind, "0 18446744073709551615 0xffffffffffffffff 0X1f", "here");
    EXPECT_EQ(reader.number("n"), 0U);
    EXPECT_EQ(reader.number("n"), ~0ULL);
    EXPECT_EQ(reader.number("n"), ~0ULL);
    EXPECT_EQ(reader.number("n"), 0x1FU);
    for (const char* text : {"", "x", "0x", "-1", "1x", "1.5", "0xg"})
        EXPECT_THROW(TextReader(kKind, text, "here").number("n"), UsageError) << text;
    try {
        TextReader(kKind, "18446744073709551616", "here").number("a number");
        ADD_FAILURE();
    } catch (const UsageError& error) {
        EXPECT_STREQ(
            error.what(),
            "here: the text has `18446744073709551616` at character 1, more than 64 bits hold; give a "
            "number");
    }
}

TEST(TextReader, ShowsTheTokenAndItsPlace) {
    EXPECT_EQ(error_of("  b c"), "here: the text has `b` at character 3; give a word");
    EXPECT_EQ(error_of("", ", too late"), "here: the text has the end at character 1, too late; give a word");
    EXPECT_EQ(error_of("\xff"), "here: the text has `\\xff` at character 1; give a word");
    EXPECT_EQ(error_of(std::string(40, 'x')),
              "here: the text has `" + std::string(32, 'x') + "...` at character 1; give a word");
}

}  // namespace
}  // namespace spead
