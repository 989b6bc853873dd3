// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <rte_log.h>

#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using test::expect_usage_error;

/// Collects DPDK's log in memory during its life. Restores the log levels at the end. No test here
/// initialises EAL.
class Capture {
  public:
    Capture() : file_(open_memstream(&text_, &size_)) { rte_openlog_stream(file_); }
    ~Capture() {
        rte_openlog_stream(nullptr);
        std::fclose(file_);
        std::free(text_);
        rte_log_set_level_pattern("spead.*", RTE_LOG_NOTICE);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    std::string text() {
        std::fflush(file_);
        return {text_, size_};
    }

  private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* file_;
};

TEST(Log, WritesALineWithItsTypeWithoutEal) {
    Capture capture;
    log_notice(LogType::port, "{} is {}", "p0", "up");
    EXPECT_EQ(capture.text(), "spead.port: p0 is up\n");
}

TEST(Log, DefaultsToNoticeAndAbove) {
    Capture capture;
    log_error(LogType::app, "e");
    log_warning(LogType::app, "w");
    log_notice(LogType::app, "n");
    log_info(LogType::app, "i");
    log_debug(LogType::app, "d");
    EXPECT_EQ(capture.text(), "spead.app: e\nspead.app: w\nspead.app: n\n");
}

TEST(Log, ALevelAloneIsForAllOurTypes) {
    Capture capture;
    set_log_level("debug");
    EXPECT_TRUE(log_enabled(LogType::recv, LogLevel::debug));
    set_log_level("error");
    for (std::size_t i = 0; i < static_cast<std::size_t>(LogType::count_); i++) {
        EXPECT_TRUE(log_enabled(static_cast<LogType>(i), LogLevel::error));
        EXPECT_FALSE(log_enabled(static_cast<LogType>(i), LogLevel::warning));
    }
}

TEST(Log, APatternIsForItsTypesOnly) {
    Capture capture;
    set_log_level("spead.re*:debug;spead.send:error");
    EXPECT_TRUE(log_enabled(LogType::recv, LogLevel::debug));
    EXPECT_FALSE(log_enabled(LogType::send, LogLevel::warning));
    EXPECT_FALSE(log_enabled(LogType::port, LogLevel::info));
    EXPECT_TRUE(log_enabled(LogType::port, LogLevel::notice));
}

TEST(Log, ABadLevelIsNamedWithTheLevelsThereAre) {
    expect_usage_error([] { check_log_level("loud", "--log-level"); },
                       {"--log-level: `loud`", "error, warning, notice, info or debug"});
    expect_usage_error([] { check_log_level("debuq"); }, {"`debuq`", "did you mean `debug`"});
    expect_usage_error([] { check_log_level("pmd.*:verbose"); }, {"`verbose`", "pmd.*:debug"});
    expect_usage_error([] { check_log_level(":debug"); }, {"`:debug`", "no pattern"});
    expect_usage_error([] { check_log_level("info;"); }, {"``"});
    expect_usage_error([] { check_log_level(""); }, {"``"});
    check_log_level("info;pmd.net.memif:debug");
}

TEST(Log, ABadLevelChangesNothing) {
    Capture capture;
    expect_usage_error([] { set_log_level("debug;loud"); }, {"loud"});
    EXPECT_FALSE(log_enabled(LogType::app, LogLevel::info));
}

TEST(Log, ControlCharactersOffTheWireAreShownNotSent) {
    Capture capture;
    log_notice(LogType::heap, "name {}", "a\x1b[2Jb\nc\x7f");
    EXPECT_EQ(capture.text(), "spead.heap: name a\\x1b[2Jb\\x0ac\\x7f\n");
}

TEST(Log, PercentSignsAreText) {
    Capture capture;
    log_notice(LogType::app, "{}", "100%s%n");
    EXPECT_EQ(capture.text(), "spead.app: 100%s%n\n");
}

TEST(LogLimiter, LetsItsNumberThroughPerIntervalAndSaysWhatItHeldBack) {
    LogLimiter limiter(2, 10.0);
    EXPECT_TRUE(limiter.ask(100.0).pass);
    EXPECT_TRUE(limiter.ask(100.1).pass);
    for (int i = 0; i < 5; i++)
        EXPECT_FALSE(limiter.ask(109.9).pass);
    const auto verdict = limiter.ask(110.0);
    EXPECT_TRUE(verdict.pass);
    EXPECT_EQ(verdict.suppressed, 5u);
    EXPECT_EQ(limiter.ask(110.1).suppressed, 0u);
}

TEST(LogLimiter, ALimitedLineTellsOfTheOnesNotShown) {
    Capture capture;
    LogLimiter limiter(1, 0.0);  // every line starts a new interval
    log_limited(limiter, LogType::port, LogLevel::warning, "odd frame {}", 1);
    LogLimiter strict(1, 1e9);
    for (int i = 0; i < 1000; i++)
        log_limited(strict, LogType::port, LogLevel::warning, "odd frame {}", 2);
    EXPECT_EQ(capture.text(), "spead.port: odd frame 1\nspead.port: odd frame 2\n");
}

TEST(LogLimiter, TellsOnceWhenAFloodIsOver) {
    LogLimiter limiter(2, 10.0);
    EXPECT_EQ(limiter.settle(100.0), 0u) << "nothing was held back";
    for (int i = 0; i < 9; i++)
        limiter.ask(100.0 + i);  // 7 held back, the last one at 108
    EXPECT_EQ(limiter.settle(109.0), 0u) << "it may go on";
    EXPECT_EQ(limiter.settle(117.9), 0u);
    EXPECT_EQ(limiter.settle(118.0), 7u);
    EXPECT_EQ(limiter.settle(119.0), 0u) << "once";
    EXPECT_EQ(limiter.ask(120.0).suppressed, 0u) << "what was told is not told again";
}

TEST(LogLimiter, WhatALaterLineToldIsNotToldAgain) {
    LogLimiter limiter(1, 10.0);
    limiter.ask(100.0);
    EXPECT_FALSE(limiter.ask(101.0).pass);
    EXPECT_EQ(limiter.ask(111.0).suppressed, 1u);
    EXPECT_EQ(limiter.settle(200.0), 0u);
}

TEST(LogLimiter, TheEndOfAFloodIsALine) {
    Capture capture;
    LogLimiter limiter(1, 0.0);
    log_limited(limiter, LogType::port, LogLevel::warning, "odd frame");
    log_settled(limiter, LogType::port, LogLevel::warning, "odd frames");
    LogLimiter strict(0, 0.0);
    log_limited(strict, LogType::port, LogLevel::warning, "odd frame");
    log_limited(strict, LogType::port, LogLevel::warning, "odd frame");
    log_settled(strict, LogType::port, LogLevel::warning, "odd frames");
    log_settled(strict, LogType::port, LogLevel::warning, "odd frames");
    EXPECT_EQ(
        capture.text(),
        "spead.port: odd frame\nspead.port: odd frames: 2 similar lines were not shown; it is quiet now\n");
}

TEST(LogLimiter, OneHeldBackLineHasNoPlural) {
    Capture capture;
    LogLimiter strict(0, 0.0);
    log_limited(strict, LogType::port, LogLevel::warning, "odd frame");
    log_settled(strict, LogType::port, LogLevel::warning, "odd frames");
    EXPECT_EQ(capture.text(), "spead.port: odd frames: 1 similar line was not shown; it is quiet now\n");
}

TEST(LogLimiter, DisabledLinesDoNotUseUpTheAllowance) {
    Capture capture;
    LogLimiter limiter(1, 1e9);
    log_limited(limiter, LogType::port, LogLevel::debug, "hidden");
    log_limited(limiter, LogType::port, LogLevel::warning, "shown");
    EXPECT_EQ(capture.text(), "spead.port: shown\n");
}

}  // namespace
}  // namespace spead
