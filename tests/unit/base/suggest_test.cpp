// SPDX-License-Identifier: BSD-3-Clause
#include "base/suggest.hpp"

#include <array>

#include <gtest/gtest.h>

namespace spead {
namespace {

constexpr std::array<std::string_view, 6> kWords{"max_packet_size", "max_poll", "ring", "rate", "ttl",
                                                 "endpoints"};

TEST(Nearest, FindsAWordWithATypingError) {
    EXPECT_EQ(nearest("max_pakcet_size", kWords), "max_packet_size");  // swapped
    EXPECT_EQ(nearest("endpoint", kWords), "endpoints");               // letter missing
    EXPECT_EQ(nearest("rrate", kWords), "rate");                       // letter too many
    EXPECT_EQ(nearest("ratw", kWords), "rate");                        // wrong letter
}

TEST(Nearest, HyphensAndCaseDoNotMatter) {
    EXPECT_EQ(nearest("max-packet-size", kWords), "max_packet_size");
    EXPECT_EQ(nearest("TTL", kWords), "ttl");
}

TEST(Nearest, AnUnfinishedWordIsFound) {
    EXPECT_EQ(nearest("max_pack", kWords), "max_packet_size");
}

TEST(Nearest, AnotherWordIsNotASuggestion) {
    EXPECT_EQ(nearest("colour", kWords), "");
    EXPECT_EQ(nearest("", kWords), "");
    EXPECT_EQ(nearest("ring", {}), "");
}

TEST(Nearest, OfTwoNearWordsTheNearerWins) {
    constexpr std::array<std::string_view, 2> words{"max_heaps", "max_heap"};
    EXPECT_EQ(nearest("max_heap", words), "max_heap");
    EXPECT_EQ(nearest("max_heaps", words), "max_heaps");
}

TEST(Hint, IsAQuestionOrNothing) {
    EXPECT_EQ(hint("rimg", kWords), " (did you mean `ring`?)");
    EXPECT_EQ(hint("colour", kWords), "");
}

TEST(ListOf, JoinsWithCommasAndOr) {
    constexpr std::array<std::string_view, 3> three{"a", "b", "c"};
    EXPECT_EQ(list_of(three), "a, b or c");
    EXPECT_EQ(list_of(std::span(three).first(2)), "a or b");
    EXPECT_EQ(list_of(std::span(three).first(1)), "a");
    EXPECT_EQ(list_of({}), "");
}

}  // namespace
}  // namespace spead
