// SPDX-License-Identifier: BSD-3-Clause
#include "base/process_mark.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

/// Tests marks in children, which tell what they see by their exit status.
namespace spead::test {
namespace {

template <typename Function>
int in_child(Function&& function) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(function());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessMark, IsOwnWhereItWasMade) {
    const ProcessMark mark;
    EXPECT_TRUE(mark.is_own());
    EXPECT_EQ(in_child([] { return 0; }), 0);
    EXPECT_TRUE(mark.is_own());
    EXPECT_TRUE(ProcessMark().is_own());
}

TEST(ProcessMark, IsNotOwnInAChild) {
    const ProcessMark mark;
    EXPECT_EQ(in_child([&mark] { return mark.is_own() ? 1 : 7; }), 7);
}

TEST(ProcessMark, TellsAChildFromItsOwnChild) {
    const int status = in_child([] {
        const ProcessMark mark;
        if (!mark.is_own())
            return 1;
        return in_child([&mark] { return mark.is_own() ? 2 : 7; });
    });
    EXPECT_EQ(status, 7);
}

}  // namespace
}  // namespace spead::test
