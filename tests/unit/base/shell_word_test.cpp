// SPDX-License-Identifier: BSD-3-Clause
#include "base/shell_word.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(ShellWord, PlainWordsStayAndOthersAreQuoted) {
    EXPECT_EQ(shell_word("/etc/x-1.toml"), "/etc/x-1.toml");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("$(rm x);y"), "'$(rm x);y'");
    EXPECT_EQ(shell_word("a`b"), "'a'\"$(printf '\\140')\"'b'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace spead
