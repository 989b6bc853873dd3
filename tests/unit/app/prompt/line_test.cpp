// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/line.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

class LineTest : public testing::Test {
  protected:
    LineTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        in_ = FileDescriptor(ends[0]);
        far_ = FileDescriptor(ends[1]);
    }
    FileDescriptor in_;
    FileDescriptor far_;
    FileDescriptor stop_{eventfd(0, EFD_CLOEXEC)};
};

TEST_F(LineTest, BeginsWithWhatWasReadBefore) {
    Line line(in_.get(), -1, stop_.get(), "show str");
    ASSERT_EQ(write(far_.get(), "eam\nquit", 8), 8);
    far_ = FileDescriptor();
    std::string text;
    ASSERT_TRUE(line.get_line(text));
    EXPECT_EQ(text, "show stream");
    ASSERT_TRUE(line.get_line(text));
    EXPECT_EQ(text, "quit");
    EXPECT_FALSE(line.get_line(text));
    EXPECT_FALSE(line.too_long());
}

TEST_F(LineTest, TakesNoLineWithoutEnd) {
    Line line(in_.get(), -1, stop_.get());
    std::thread writer([this] {
        const std::string much(1 << 20, 'x');
        // The reader goes.
        while (write(far_.get(), much.data(), much.size()) > 0) {
        }
    });
    std::string text;
    EXPECT_FALSE(line.get_line(text));
    EXPECT_TRUE(line.too_long());
    EXPECT_LE(text.capacity(), 4 * Line::kLongestLine);
    EXPECT_FALSE(line.get_line(text)) << "nothing more is read";
    std::signal(SIGPIPE, SIG_IGN);
    in_ = FileDescriptor();
    writer.join();
}

TEST_F(LineTest, TellsWhenItWasUsed) {
    Line line(in_.get(), far_.get(), stop_.get());
    LastUse use;
    line.watch(use);
    const auto made = use.time();
    while (LastUse::Clock::now() == made) {
    }
    line.put("x\n");
    const auto written = use.time();
    EXPECT_GT(written, made);
    while (LastUse::Clock::now() == written) {
    }
    std::string text;
    EXPECT_TRUE(line.get_line(text));
    EXPECT_GT(use.time(), written);
}

}  // namespace
}  // namespace spead::app
