// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/event_reporter.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <poll.h>
#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Records the arguments of the hooks.
struct Heard {
    std::vector<std::string> events, lcores, engines;

    EventReporter::Hooks hooks() {
        return {[this](const std::string& stream, const stats::LastEvent& event) {
                    events.push_back(stream + ": " + event.text);
                },
                [this](const std::string& what, double at_s) {
                    lcores.push_back(fmt::format("{} at {}", what, at_s));
                },
                [this](const std::string& what, double at_s) {
                    engines.push_back(fmt::format("{} at {}", what, at_s));
                }};
    }
};

/// Runs a shell script that writes its event into a file. When the file is there, its line is complete.
class Script {
  public:
    std::vector<std::string> command() const {
        return {"/bin/sh", "-c",
                "printf '%s|%s|%s|%s|%s|%s\\n' \"$SPEAD_STREAM\" \"$SPEAD_EVENT\" \"$SPEAD_TEXT\" "
                "\"$SPEAD_TIME\" "
                "\"$SPEAD_NAME\" \"$SPEAD_LCORE$SPEAD_ENGINE\" > \"$0.part\" && mv \"$0.part\" \"$0\"",
                file()};
    }
    /// Returns the script's line. The test's time limit ends a wait for a line that never comes.
    std::string line(EventReporter& reporter) const {
        for (;;) {
            reporter.poll();
            if (std::ifstream in(file()); in) {
                std::string text;
                std::getline(in, text);
                return text;
            }
            poll(nullptr, 0, 5);
        }
    }

  private:
    std::string file() const { return scratch_.file("told"); }
    spead::test::ScratchDirectory scratch_{testing::TempDir()};
};

TEST(EventReporter, TellsAStreamsEventToTheHookAndTheCommand) {
    Heard heard;
    Script script;
    EventReporter reporter("night", script.command(), heard.hooks());
    reporter.report("s0", {stats::StreamEvent::silent, 1.5, "no packet for 2.0 s"});
    EXPECT_THAT(heard.events, ElementsAre("s0: no packet for 2.0 s"));
    EXPECT_THAT(heard.lcores, IsEmpty());
    EXPECT_EQ(script.line(reporter), "s0|silent|no packet for 2.0 s|1.500|night|");
}

TEST(EventReporter, TellsAnLcoresEventToItsOwnHookAndTheCommand) {
    Heard heard;
    Script script;
    EventReporter reporter("night", script.command(), heard.hooks());
    reporter.report({3, 7, true, "lcore 3 on CPU 7 has not answered for 1.0 s", 2});
    EXPECT_THAT(heard.lcores, ElementsAre("lcore 3 on CPU 7 has not answered for 1.0 s at 2"));
    EXPECT_THAT(heard.events, IsEmpty());
    EXPECT_EQ(script.line(reporter),
              "|lcore_silent|lcore 3 on CPU 7 has not answered for 1.0 s|2.000|night|3");
}

TEST(EventReporter, TellsAnEnginesEventToItsOwnHookAndTheCommand) {
    Heard heard;
    Script script;
    EventReporter reporter("night", script.command(), heard.hooks());
    reporter.report(
        EventReporter::EngineEvent{"cuda", true, "the engine `cuda` has moved nothing for 1.0 s", 2});
    EXPECT_THAT(heard.engines, ElementsAre("the engine `cuda` has moved nothing for 1.0 s at 2"));
    EXPECT_THAT(heard.lcores, IsEmpty());
    EXPECT_EQ(script.line(reporter),
              "|engine_stalled|the engine `cuda` has moved nothing for 1.0 s|2.000|night|cuda");
}

TEST(EventReporter, NeedsNeitherHooksNorACommand) {
    EventReporter reporter("", {}, {});
    reporter.report("s0", {stats::StreamEvent::back, 1, "packets come again after 8.0 s"});
    reporter.report({0, 0, false, "lcore 0 on CPU 0 answers again, after 1.0 s", 1});
    reporter.poll();
    reporter.end();
}

TEST(EventReporter, StartsNoCommandOnceItHasEnded) {
    Heard heard;
    EventReporter reporter("", {"/bin/true"}, heard.hooks());
    reporter.end();
    reporter.report("s0", {stats::StreamEvent::silent, 1, "no packet for 2.0 s"});
    EXPECT_EQ(heard.events.size(), 1U) << "the hook is called all the same";
}

TEST(EventReporter, RunsTheCommandForEventsThatCameBeforeTheEnd) {
    Script script;
    EventReporter reporter("night", script.command(), {});
    reporter.report("s0", {stats::StreamEvent::silent, 1.5, "no packet for 2.0 s"});
    reporter.report("s0", {stats::StreamEvent::back, 2.5, "packets come again after 3.0 s"});
    reporter.end();
    EXPECT_EQ(script.line(reporter), "s0|back|packets come again after 3.0 s|2.500|night|");
}

TEST(EventReporter, RefusesACommandThatIsNotThere) {
    try {
        EventReporter reporter("", {"/nonexistent/program"}, {});
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("/nonexistent/program"));
    }
}

}  // namespace
}  // namespace spead::runtime
