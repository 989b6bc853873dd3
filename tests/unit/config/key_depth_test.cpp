// SPDX-License-Identifier: BSD-3-Clause
#include "config/key_depth.hpp"

#include <string>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"

namespace spead::config {
namespace {

/// Returns a key of so many parts, as a.a.a.
std::string key(std::size_t parts, const std::string& part = "a", const std::string& dot = ".") {
    std::string text = part;
    for (std::size_t i = 1; i < parts; i++)
        text += dot + part;
    return text;
}

TEST(KeyDepth, KeysOfAsManyPartsAsAllowedPass) {
    const std::string most = key(kMaxKeyParts);
    for (const std::string& text :
         {most + " = 1", "[" + most + "]", "[[" + most + "]]", most + "={" + most + "=1," + most + "=2}",
          most + " = 1\n" + most + " = 2\n", std::string("a = [1.5, 2.5,\n3.5, 4.5]")})
        EXPECT_FALSE(too_deep_key(text)) << text;
}

TEST(KeyDepth, KeysOfMoreAreFoundHoweverTheyAreWritten) {
    for (const std::string& more :
         {key(kMaxKeyParts + 1), key(kMaxKeyParts + 1, "a", " . "), key(kMaxKeyParts + 1, "\"b c\""),
          key(kMaxKeyParts + 1, "'.'"), key(kMaxKeyParts + 1, "\"\\\"\""), key(400'000)})
        for (const std::string& text :
             {more + " = 1", "[" + more + "]", "[[" + more + "]]", "x = {" + more + " = 1}",
              "x = \"\"\"\n\"\"\"\n" + more, "x = 'a\n" + more, "# a 'comment\n" + more})
            EXPECT_TRUE(too_deep_key(text)) << text.substr(0, 100);
}

TEST(KeyDepth, DotsInStringsAndCommentsAreNoKeys) {
    const std::string dots(100, '.');
    for (const std::string& text : {"# " + dots + "\na = 1", "a = \"" + dots + "\"", "a = '" + dots + "'",
                                    "a = \"\"\"\n\"" + dots + "\\\"\"\"" + dots + "\"\"\"",
                                    "a = '''\n" + dots + "\n'''", "a = \"\\\\\" # " + dots})
        EXPECT_FALSE(too_deep_key(text)) << text;
}

TEST(KeyDepth, AnythingMayStandAtTheEnd) {
    for (const char* const text :
         {"", "\"", "'", "\"\\", "\"\"\"", "'''\n", "#", "a.", ".", "\"\"\"\"", "\"\"\"\\"})
        EXPECT_FALSE(too_deep_key(text)) << text;
}

TEST(KeyDepth, AConfigurationWithSuchKeysIsRefusedWithTheirPlace) {
    for (const std::string& text :
         {key(400'000) + " = 1\n", "[" + key(400'000) + "]\n", "[[" + key(400'000) + "]]\n"})
        test::expect_usage_error([&] { parse_text("version = 1\n" + text, "a.toml"); },
                                 {"a.toml:2:", "a key has more than 16 parts"});
}

}  // namespace
}  // namespace spead::config
