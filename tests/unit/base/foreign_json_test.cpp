// SPDX-License-Identifier: BSD-3-Clause
#include "base/foreign_json.hpp"

#include <string>

#include <gtest/gtest.h>

namespace spead {
namespace {

std::string nested(std::size_t depth, char open = '[', char shut = ']') {
    return std::string(depth, open) + std::string(depth, shut);
}

TEST(ForeignJson, IsReadAsItIs) {
    const auto json = parse_foreign(R"({"a":[1,{"b":"[[\"{"}],"c":null})");
    EXPECT_EQ(json.dump(), R"({"a":[1,{"b":"[[\"{"}],"c":null})");
}

TEST(ForeignJson, WhatIsNoneIsDiscarded) {
    for (const char* const text : {"", "{", "]", "}{", "nan", "{\"a\":}", "\"", "\"\\", "[1,]", "{\"a\":1}}"})
        EXPECT_TRUE(parse_foreign(text).is_discarded()) << text;
}

TEST(ForeignJson, HasABoundedDepth) {
    EXPECT_FALSE(parse_foreign(nested(kDeepestJson)).is_discarded());
    EXPECT_TRUE(parse_foreign(nested(kDeepestJson + 1)).is_discarded());
    for (const std::string& text :
         {nested(1'000'000), std::string(1'000'000, '['), std::string(1'000'000, '{'),
          "{\"a\":" + nested(400'000) + "}", "[\"\\\"\"," + nested(400'000) + "]",
          "[\"\\\\\"," + nested(400'000) + "]"})
        EXPECT_TRUE(parse_foreign<nlohmann::ordered_json>(text).is_discarded()) << text.substr(0, 20);
    // Many, and not within each other; and what only looks like brackets.
    std::string wide = "[";
    for (int i = 0; i < 1000; i++)
        wide += "[[]],";
    EXPECT_FALSE(parse_foreign(wide + "\"" + std::string(1000, '[') + "\"]").is_discarded());
}

TEST(ForeignJson, ANameThatAnObjectHasTwiceIsFound) {
    for (const char* const text :
         {R"({"a":1,"a":2})", R"({"a":1,"b":{"c":1},"a":1})", R"([{"b":{"a":[],"x":{"a":1},"a":{}}}])",
          R"({"a":1,"\u0061":2})", R"({"a":1,"a":1,"b":1,"b":1})"})
        EXPECT_EQ(repeated_name(text), "a") << text;
    for (const char* const text : {"{}", "7", R"({"a":{"a":{"a":1}},"b":{"a":2}})", R"([{"a":1},{"a":1}])",
                                   R"({"a":"b","b":["a","a"]})"})
        EXPECT_EQ(repeated_name(text), "") << text;
}

TEST(ForeignJson, ExcerptsAreShort) {
    EXPECT_EQ(excerpt_of(parse_foreign(R"("\u00e9")")), R"("\u00e9")");
    EXPECT_EQ(excerpt_of(parse_foreign("[1,null]")), "[1,null]");
    EXPECT_EQ(excerpt_of(parse_foreign("[1,[]]")), "a nested list");
    EXPECT_EQ(excerpt_of(parse_foreign("{}")), "an object");
    EXPECT_EQ(excerpt_of(parse_foreign('"' + std::string(200, 'x') + '"')).size(), 100U);
}

TEST(ForeignJson, ValuesOfAnotherKindAreAsIfAbsent) {
    const auto json = parse_foreign(R"({"n":7,"negative":-1,"real":1.5,"text":"t","list":[1]})");
    EXPECT_EQ(number_in(json, "n"), 7U);
    for (const char* const name : {"negative", "real", "text", "list", "absent"})
        EXPECT_EQ(number_in(json, name, 3), 3U) << name;
    EXPECT_EQ(text_in(json, "text"), "t");
    for (const char* const name : {"n", "list", "absent"})
        EXPECT_EQ(text_in(json, name), "") << name;
    EXPECT_EQ(number_in(parse_foreign("[1]"), "n", 3), 3U);
    EXPECT_EQ(text_in(parse_foreign("}"), "n"), "");
}

}  // namespace
}  // namespace spead
