// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_screen.hpp"

#include <gtest/gtest.h>

namespace spead::app {
namespace {

TopView after(std::string_view keys, TopView view = {}, std::size_t most_scroll = 10) {
    EXPECT_FALSE(press(keys, view, most_scroll)) << keys;
    return view;
}

TEST(TopKeys, SomeEndIt) {
    TopView view;
    for (const char* const keys : {"q", "Q", "\x04", "jjq"})
        EXPECT_TRUE(press(keys, view, 0)) << keys;
    for (const char* const keys : {"", "x", "\x1b", "\x1b[", "\x1b[5~", "0", "9"})
        EXPECT_FALSE(press(keys, view, 0)) << keys;
}

TEST(TopKeys, DigitsAndTabChooseThePage) {
    EXPECT_EQ(after("2").page, TopPage::loss);
    EXPECT_EQ(after("5").page, TopPage::lcores);
    EXPECT_EQ(after("5\t").page, TopPage::streams);
    EXPECT_EQ(after("\t\t").page, TopPage::sends);
    EXPECT_EQ(after("6").page, TopPage::streams);
    EXPECT_EQ(after("jj3").scroll, 0u);
}

TEST(TopKeys, SortingGoesRound) {
    EXPECT_EQ(after("s").sort, TopSort::rate);
    EXPECT_EQ(after("ssss").sort, TopSort::name);
    EXPECT_TRUE(after("r").reversed);
    EXPECT_FALSE(after("rr").reversed);
}

TEST(TopKeys, ScrollingStaysWithinTheTable) {
    EXPECT_EQ(after("k").scroll, 0u);
    EXPECT_EQ(after("jjk").scroll, 1u);
    EXPECT_EQ(after("\x1b[B\x1bOB\x1b[A").scroll, 1u);
    EXPECT_EQ(after(std::string(50, 'j')).scroll, 10u);
    EXPECT_EQ(after("j", {}, 0).scroll, 0u);
}

TEST(TopKeys, TheLineOfKeysMayGo) {
    EXPECT_FALSE(after("h").keys);
    EXPECT_TRUE(after("h?").keys);
}

}  // namespace
}  // namespace spead::app
