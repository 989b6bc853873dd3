// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/notices.hpp"

#include <gmock/gmock.h>
#include <poll.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spead::app {
namespace {

bool readable(const Ear& ear) {
    pollfd fd{ear.fd(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
}

TEST(Ear, IsReadableUntilAllIsTaken) {
    Ear ear;
    EXPECT_FALSE(readable(ear));
    EXPECT_EQ(ear.take(), "");
    ear.tell("one");
    ear.tell("two");
    EXPECT_TRUE(readable(ear));
    EXPECT_EQ(ear.take(), "one\ntwo\n");
    EXPECT_FALSE(readable(ear));
    EXPECT_EQ(ear.take(), "");
}

TEST(Ear, OfManyUnreadOnesTheOldestGo) {
    Ear ear;
    for (std::size_t i = 0; i < Ear::kMost + 3; i++)
        ear.tell(fmt::format("line {}.", i));
    const std::string text = ear.take();
    EXPECT_THAT(text, testing::StartsWith("(3 more before)\nline 3.\n"));
    EXPECT_THAT(text, testing::EndsWith(fmt::format("line {}.\n", Ear::kMost + 2)));
    ear.tell("new");
    EXPECT_EQ(ear.take(), "new\n");
}

TEST(Notices, ReachWhoeverListens) {
    Notices notices;
    notices.tell("to nobody");
    Ear one;
    const Notices::Listening listening(notices, one);
    {
        Ear two;
        const Notices::Listening also(notices, two);
        notices.tell("to both");
        EXPECT_EQ(two.take(), "to both\n");
    }
    notices.tell("to one");
    EXPECT_EQ(one.take(), "to both\nto one\n");
}

}  // namespace
}  // namespace spead::app
