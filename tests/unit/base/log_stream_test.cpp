// SPDX-License-Identifier: BSD-3-Clause
#include "base/log_stream.hpp"

#include <gmock/gmock.h>
#include <vector>

#include <fmt/format.h>
#include <rte_log.h>

namespace spead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kAccept = "Failed to accept connection request on socket fd {}";

TEST(LineLimiter, LetsSomeLinesOfAShapeThrough) {
    LineLimiter limiter;
    std::string all;
    for (unsigned i = 0; i < 100'000; i++)
        all += limiter.pass(fmt::format(kAccept, i), 1.0 + i * 1e-6);
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), LineLimiter::kLines);
    EXPECT_EQ(limiter.pass("something else", 1.2), "something else\n");
    EXPECT_EQ(limiter.pass(fmt::format(kAccept, 7), 9.0), "");
    EXPECT_EQ(limiter.pass(fmt::format(kAccept, 7), 11.5),
              fmt::format(kAccept, 7) +
                  fmt::format(" ({} similar lines not shown)\n", 100'001 - LineLimiter::kLines));
}

TEST(LineLimiter, TellsOfAFloodThatIsOver) {
    LineLimiter limiter;
    for (unsigned i = 0; i < 100; i++)
        limiter.pass(fmt::format(kAccept, i), 1.0);
    EXPECT_EQ(limiter.pass("x", 5.0), "x\n");
    EXPECT_EQ(
        limiter.pass("y", 11.0),
        fmt::format(kAccept, 0) + fmt::format(" ({} similar lines were not shown; it is quiet now)\ny\n",
                                              100 - LineLimiter::kLines));
    EXPECT_EQ(limiter.pass("y", 30.0), "y\n");
}

TEST(LineLimiter, DoesNotGrowWithTheShapesThatComeItsWay) {
    LineLimiter limiter;
    std::string word;
    for (unsigned i = 0; i < 10'000; i++) {
        word = {static_cast<char>('a' + i % 26), static_cast<char>('a' + i / 26 % 26),
                static_cast<char>('a' + i / 676 % 26)};
        EXPECT_EQ(limiter.pass(word, 1.0), word + "\n");
    }
    EXPECT_LT(sizeof limiter, 1000U);
}

/// Collects the log lines that are written during its life.
class Reading {
  public:
    Reading() {
        LogStream::install();
        LogStream::redirect([this](int, std::string_view line) { lines.emplace_back(line); });
    }
    ~Reading() { LogStream::redirect({}); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    std::vector<std::string> lines;
};

TEST(LogStream, GivesWholeLinesToWhoeverAskedForThem) {
    Reading reading;
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "%s", "one ");
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "%s", "line\nand another\n");
    log_error(LogType::app, "ours");
    EXPECT_THAT(reading.lines, ElementsAre("one line", "and another", "spead.app: ours"));
}

TEST(LogStream, WaitsForNoEndOfALineWithoutEnd) {
    Reading reading;
    std::size_t said = 0;
    for (unsigned i = 0; i < 10'000; i++, said += 10)
        rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "%s", "no newline");
    std::size_t shown = 0;
    for (const std::string& line : reading.lines)
        shown += line.size();
    EXPECT_GT(shown, said - 20'000);
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "%s", "\n");
}

TEST(LogStream, LimitsWhatDpdkSaysAndNothingElse) {
    Reading reading;
    for (unsigned i = 0; i < 1000; i++)
        rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "memif_listener_handler(): again %u\n", i);
    EXPECT_THAT(reading.lines, SizeIs(LineLimiter::kLines));
    reading.lines.clear();
    for (unsigned i = 0; i < 100; i++)
        log_error(LogType::app, "stream s{} is silent", i);
    EXPECT_THAT(reading.lines, SizeIs(100));
}

TEST(LogStream, WritesWhatIsCriticalToStandardError) {
    Reading reading;
    testing::internal::CaptureStderr();
    rte_log(RTE_LOG_CRIT, RTE_LOGTYPE_EAL, "the end\n");
    std::fflush(stderr);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the end\n"));
    EXPECT_THAT(reading.lines, IsEmpty());
}

}  // namespace
}  // namespace spead
