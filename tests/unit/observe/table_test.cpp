// SPDX-License-Identifier: BSD-3-Clause
#include "observe/table.hpp"

#include <gtest/gtest.h>

namespace spead::observe {
namespace {

TEST(Table, AlignsWordsLeftAndNumbersRight) {
    Table table;
    table.row("stream", "s0");
    table.word("where", "here");
    table.count("packets", 5);
    table.row("stream", "a-long-name");
    table.word("where", "x");
    table.count("packets", 123456789);
    EXPECT_EQ(table.text(),
              "stream       where    packets\n"
              "s0           here           5\n"
              "a-long-name  x      123456789\n");
}

TEST(Table, ShowsAnOptionalColumnIfAnyRowHasSomethingInIt) {
    Table table;
    table.row("s", "a");
    table.count_if_any("late", 0);
    table.count_if_any("never", 0);
    table.count("end", 1);
    EXPECT_EQ(table.text(), "s  end\na    1\n");
    table.row("s", "b");
    table.count_if_any("late", 3);
    table.count_if_any("never", 0);
    table.count("end", 2);
    table.row("s", "c");
    table.count_if_any("late", 0);
    table.count("end", 3);
    EXPECT_EQ(table.text(), "s  late  end\na     0    1\nb     3    2\nc     0    3\n");
}

TEST(Table, ARowThatLacksAColumnLeavesItEmpty) {
    Table table;
    table.row("s", "a");
    table.row("s", "b");
    table.count("n", 7);
    table.row("s", "c");
    EXPECT_EQ(table.text(), "s  n\na\nb  7\nc\n");
}

TEST(Table, WithoutRowsIsEmpty) {
    EXPECT_TRUE(Table().empty());
    EXPECT_EQ(Table().text(), "");
}

TEST(Table, CountsCharactersNotBytes) {
    EXPECT_EQ(display_width("räume"), 5u);
    EXPECT_EQ(display_width(""), 0u);
    Table table;
    table.row("n", "ä");
    table.count("x", 1);
    table.row("n", "ab");
    table.count("x", 2);
    EXPECT_EQ(table.text(), "n   x\nä   1\nab  2\n");
}

TEST(Table, ShowsAColumnOfWordsIfAnyRowHasOne) {
    Table table;
    table.row("s", "a");
    table.word_if_any("state", "");
    table.word_if_any("never", "");
    table.row("s", "b");
    table.word_if_any("state", "off");
    EXPECT_EQ(table.text(), "s  state\na\nb  off\n");
}

}  // namespace
}  // namespace spead::observe
