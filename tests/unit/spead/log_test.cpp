// SPDX-License-Identifier: BSD-3-Clause
#include "spead/log.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using Lines = std::vector<std::pair<Log::Level, std::string>>;

struct Redirected {
    explicit Redirected(Lines& lines) {
        Log::redirect([&lines](Log::Level level, std::string_view line) { lines.emplace_back(level, line); });
    }
    ~Redirected() { Log::redirect({}); }
};

TEST(Log, LinesHaveTheirLevels) {
    Lines lines;
    const Redirected here(lines);
    Log::set_level("debug");
    log_error(LogType::recv, "one {}", 1);
    log_warning(LogType::send, "two");
    log_notice(LogType::app, "three");
    log_info(LogType::app, "four");
    log_debug(LogType::app, "five");
    const Lines wanted{{Log::Level::error, "spead.recv: one 1"},
                       {Log::Level::warning, "spead.send: two"},
                       {Log::Level::notice, "spead.app: three"},
                       {Log::Level::info, "spead.app: four"},
                       {Log::Level::debug, "spead.app: five"}};
    EXPECT_EQ(lines, wanted);
}

TEST(Log, ALevelHidesTheLowerOnes) {
    Lines lines;
    const Redirected here(lines);
    Log::set_level("error");
    log_warning(LogType::recv, "hidden");
    log_error(LogType::recv, "seen");
    EXPECT_EQ(lines.size(), 1U);
}

TEST(Log, WrongLevelsAreRefused) {
    EXPECT_NE(test::refusal([] { Log::set_level("loud"); }).find("`loud` is not a log level"),
              std::string::npos);
}

}  // namespace
}  // namespace spead
