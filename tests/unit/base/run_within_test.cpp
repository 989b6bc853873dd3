// SPDX-License-Identifier: BSD-3-Clause
#include "base/run_within.hpp"

#include <future>
#include <memory>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

constexpr std::chrono::milliseconds kEnough{60'000};

TEST(RunWithin, WaitsForTheEndOnAnotherThread) {
    std::thread::id ran;
    EXPECT_TRUE(run_within(kEnough, "test", [&ran] { ran = std::this_thread::get_id(); }));
    EXPECT_NE(ran, std::thread::id());
    EXPECT_NE(ran, std::this_thread::get_id());
}

TEST(RunWithin, ThrowsWhatTheWorkThrows) {
    EXPECT_THROW(run_within(kEnough, "test", [] { throw_error("here", "no"); }), Error);
}

TEST(RunWithin, LeavesBehindWhatDoesNotEnd) {
    int ends[2]{};
    ASSERT_EQ(pipe(ends), 0);
    auto over = std::make_shared<std::promise<char>>();
    std::future<char> later = over->get_future();
    EXPECT_FALSE(run_within(std::chrono::milliseconds(1), "test", [from = ends[0], over] {
        char byte = 0;
        static_cast<void>(!read(from, &byte, 1));
        over->set_value(byte);
        throw_error("here", "nobody hears it");
    }));
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(later.get(), 'x') << "it goes on";
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace spead
