// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output_capture.hpp"

#include <cstdio>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

void say(int fd, const std::string& text) {
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

/// Returns the process's standard output and standard error during the action.
template <typename Action>
std::pair<std::string, std::string> printed(Action&& action) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    action();
    return {testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(OutputCapture, PassesEverythingOnAtItsEnd) {
    const auto [out, error] = printed([] {
        std::printf("before ");
        const OutputCapture capture;
        std::printf("buffered ");
        say(STDERR_FILENO, "wrong\n");
    });
    EXPECT_EQ(out, "before buffered ");
    EXPECT_EQ(error, "wrong\n");
}

TEST(OutputCapture, TheErrorsAreTakenWithoutWhatSurroundsThem) {
    std::vector<std::string> taken;
    const auto [out, error] = printed([&taken] {
        OutputCapture capture;
        std::printf("a page of usage");
        std::fprintf(stderr, "dpdk-spead: unrecognized option '--x'\n\nsecond\nsecond\n");
        taken = capture.take_errors();
    });
    EXPECT_EQ(taken, (std::vector<std::string>{"unrecognized option '--x'", "second"}));
    EXPECT_EQ(out, "");
    EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace spead::runtime
