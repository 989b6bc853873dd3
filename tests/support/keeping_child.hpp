// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::test {

/// Is a child of fork(2) that keeps this process's descriptors until it is destroyed.
class KeepingChild {
  public:
    KeepingChild() {
        EXPECT_EQ(::pipe(pipe_), 0);
        child_ = ::fork();
        if (child_ == 0) {
            ::close(pipe_[1]);
            char byte = 0;
            // Its parent's end is the end of the pipe, too.
            ::_exit(::read(pipe_[0], &byte, 1) == 0 ? 0 : 1);
        }
        EXPECT_GT(child_, 0);
        ::close(pipe_[0]);
    }
    ~KeepingChild() {
        ::close(pipe_[1]);
        int status = 1;
        EXPECT_EQ(::waitpid(child_, &status, 0), child_);
        EXPECT_EQ(status, 0);
    }
    KeepingChild(const KeepingChild&) = delete;
    KeepingChild& operator=(const KeepingChild&) = delete;

  private:
    int pipe_[2]{};
    pid_t child_ = -1;
};

}  // namespace spead::test
