// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/notifications.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/readable.hpp"

namespace spead::app {
namespace {

TEST(NotificationQueue, IsReadableUntilAllIsTaken) {
    NotificationQueue queue;
    EXPECT_FALSE(test::is_readable(queue.fd()));
    EXPECT_EQ(queue.take(), "");
    queue.tell("one");
    queue.tell("two");
    EXPECT_TRUE(test::is_readable(queue.fd()));
    EXPECT_EQ(queue.take(), "one\ntwo\n");
    EXPECT_FALSE(test::is_readable(queue.fd()));
    EXPECT_EQ(queue.take(), "");
}

TEST(NotificationQueue, OfManyUnreadOnesTheOldestGo) {
    NotificationQueue queue;
    for (std::size_t i = 0; i < NotificationQueue::kMost + 3; i++)
        queue.tell(fmt::format("line {}.", i));
    const std::string text = queue.take();
    EXPECT_THAT(text, testing::StartsWith("(3 more before)\nline 3.\n"));
    EXPECT_THAT(text, testing::EndsWith(fmt::format("line {}.\n", NotificationQueue::kMost + 2)));
    queue.tell("new");
    EXPECT_EQ(queue.take(), "new\n");
}

TEST(Notifications, ReachWhoeverListens) {
    Notifications notifications;
    notifications.tell("to nobody");
    NotificationQueue one;
    const Notifications::Listening listening(notifications, one);
    {
        NotificationQueue two;
        const Notifications::Listening also(notifications, two);
        notifications.tell("to both");
        EXPECT_EQ(two.take(), "to both\n");
    }
    notifications.tell("to one");
    EXPECT_EQ(one.take(), "to both\nto one\n");
}

}  // namespace
}  // namespace spead::app
