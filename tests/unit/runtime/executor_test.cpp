// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/executor.hpp"

#include <atomic>
#include <gmock/gmock.h>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/readable.hpp"

namespace spead::runtime {
namespace {

/// Serves until `done`.
void serve_until(Executor& executor, const std::atomic<bool>& done) {
    while (!done) {
        executor.serve();
        std::this_thread::yield();
    }
}

TEST(Executor, RunsOnTheServingThreadAndGivesBackWhatItReturns) {
    Executor executor;
    EXPECT_FALSE(spead::test::is_readable(executor.fd()));
    EXPECT_FALSE(executor.serve());
    std::atomic<bool> done{false};
    std::thread::id ran_on;
    std::thread other([&] {
        EXPECT_EQ(executor.call([&] {
            ran_on = std::this_thread::get_id();
            return std::string("answer");
        }),
                  "answer");
        int n = 0;
        executor.call([&n] { n = 7; });
        EXPECT_EQ(n, 7);
        done = true;
    });
    serve_until(executor, done);
    other.join();
    EXPECT_EQ(ran_on, std::this_thread::get_id());
    EXPECT_FALSE(spead::test::is_readable(executor.fd()));
}

TEST(Executor, IsReadableWhileSomethingIsPosted) {
    Executor executor;
    std::thread other([&] { executor.call([] {}); });
    while (!spead::test::is_readable(executor.fd()))
        std::this_thread::yield();
    EXPECT_TRUE(executor.serve());
    other.join();
    EXPECT_FALSE(spead::test::is_readable(executor.fd()));
}

TEST(Executor, ThrowsWhatTheFunctionThrows) {
    Executor executor;
    std::atomic<bool> done{false};
    std::thread other([&] {
        EXPECT_THROW(executor.call([] { throw UsageError("wrong"); }), UsageError);
        EXPECT_THROW(executor.call([]() -> int { throw UsageError("wrong"); }), UsageError);
        done = true;
    });
    serve_until(executor, done);
    other.join();
}

TEST(Executor, WhatNobodyBeginsIsGivenUpAndNeverRuns) {
    Executor executor;
    bool ran = false;
    EXPECT_THROW(executor.call([&ran] { ran = true; }, std::chrono::milliseconds(1)), Error);
    EXPECT_FALSE(executor.serve());
    EXPECT_FALSE(ran);
}

TEST(Executor, UntilIsAskedAtEveryRoundAndHoldsNobodyUp) {
    Executor executor;
    std::atomic<bool> done{false};
    int asked = 0;
    std::thread other([&] {
        EXPECT_EQ(executor.until([&]() -> std::optional<int> {
            return ++asked == 5 ? std::optional(asked * 10) : std::nullopt;
        }),
                  50);
        EXPECT_THROW(executor.until([]() -> std::optional<int> { throw UsageError("wrong"); }), UsageError);
        done = true;
    });
    while (!spead::test::is_readable(executor.fd()))
        std::this_thread::yield();
    for (int round = 1; round <= 4; round++) {
        EXPECT_TRUE(executor.serve());
        EXPECT_EQ(asked, round);
        EXPECT_FALSE(spead::test::is_readable(executor.fd())) << "whoever polls it would spin";
    }
    serve_until(executor, done);
    other.join();
    EXPECT_FALSE(executor.serve());
}

TEST(Executor, UntilIsToldThatTheProgramEnds) {
    Executor executor;
    std::thread other(
        [&] { EXPECT_THROW(executor.until([]() -> std::optional<int> { return std::nullopt; }), Error); });
    while (!spead::test::is_readable(executor.fd()))
        std::this_thread::yield();
    executor.serve();
    executor.close();
    other.join();
    EXPECT_FALSE(executor.serve());
}

TEST(Executor, ManyCallersAreServedInOrder) {
    Executor executor;
    std::atomic<int> finished{0};
    std::atomic<bool> done{false};
    int n = 0;
    std::vector<std::thread> others;
    for (int i = 0; i < 8; i++)
        others.emplace_back([&] {
            for (int k = 0; k < 50; k++)
                executor.call([&n] { n++; });
            if (++finished == 8)
                done = true;
        });
    serve_until(executor, done);
    for (std::thread& t : others)
        t.join();
    EXPECT_EQ(n, 400);
}

TEST(Executor, RefusesWhenItIsClosed) {
    Executor executor;
    std::thread waiting([&] { EXPECT_THROW(executor.call([] {}), Error); });
    while (!spead::test::is_readable(executor.fd()))
        std::this_thread::yield();
    executor.close();
    waiting.join();
    EXPECT_THROW(executor.call([] {}), Error);
    EXPECT_FALSE(executor.serve());
}

TEST(Executor, WhatIsPostedRunsWithoutAnybodyWaiting) {
    Executor executor;
    int ran = 0;
    executor.post([&ran] { ran++; });
    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(spead::test::is_readable(executor.fd()));
    EXPECT_TRUE(executor.serve());
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(spead::test::is_readable(executor.fd()));
    executor.close();
    executor.post([&ran] { ran++; });
    EXPECT_FALSE(executor.serve());
    EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace spead::runtime
