// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/words.hpp"

#include <gtest/gtest.h>

namespace spead::app {
namespace {

using List = std::vector<std::string>;

TEST(Words, AreCutAtBlanks) {
    const Words words = split_words("  show\tstream   s0\r\n");
    EXPECT_EQ(words.words, (List{"show", "stream", "s0"}));
    EXPECT_FALSE(words.last_is_open);
}

TEST(Words, AnOpenWordIsStillBeingTyped) {
    EXPECT_TRUE(split_words("show str").last_is_open);
    EXPECT_FALSE(split_words("show str ").last_is_open);
    EXPECT_FALSE(split_words("").last_is_open);
}

TEST(Words, QuotesKeepBlanksTogether) {
    EXPECT_EQ(split_words(R"(save config "my file.toml")").words, (List{"save", "config", "my file.toml"}));
    EXPECT_EQ(split_words(R"("a \" b \\ c" "")").words, (List{R"(a " b \ c)", ""}));
    EXPECT_TRUE(split_words(R"(save "half)").in_quotes);
}

TEST(Words, AHashBeginsAComment) {
    EXPECT_EQ(split_words("quit # now").words, (List{"quit"}));
    EXPECT_EQ(split_words("# nothing").words, List{});
    EXPECT_EQ(split_words("a#b").words, (List{"a#b"}));
}

TEST(Words, QuotedWordsComeBack) {
    for (const std::string word : {"plain", "with blank", "", "#x", R"(q"u\o)", R"(back\slash)", "tab\there"})
        EXPECT_EQ(split_words(quoted_word(word)).words, List{word}) << quoted_word(word);
}

}  // namespace
}  // namespace spead::app
