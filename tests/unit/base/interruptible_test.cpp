// SPDX-License-Identifier: BSD-3-Clause
#include "base/interruptible.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""us;

TEST(WaitInterruptibly, EndsWithItsTimeOrThrowsAtOnce) {
    wait_interruptibly(-1, 1us, "p0", "joining");
    wait_interruptibly(-1, -1h, "p0", "joining");
    const int fd = eventfd(0, 0);
    wait_interruptibly(fd, 1us, "p0", "joining");
    ASSERT_EQ(eventfd_write(fd, 1), 0);
    for (int i = 0; i < 2; i++)  // it is not taken off
        try {
            wait_interruptibly(fd, 24h, "p0", "joining");
            ADD_FAILURE() << "no Error was thrown";
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), "p0: interrupted while joining");
        }
    close(fd);
}

}  // namespace
}  // namespace spead
