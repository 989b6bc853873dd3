// SPDX-License-Identifier: BSD-3-Clause
#include "observe/telemetry_answers.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "observe/report.hpp"
#include "observe/telemetry_fit.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using namespace std::chrono_literals;

class TelemetryAnswersTest : public testing::Test {
  protected:
    void publish(const stats::Snapshot& snapshot) { latest->publish(snapshot, time += 500ms); }
    Json ask(std::string_view command, std::string_view parameter = "") {
        return answers.answer(command, parameter);
    }
    std::string problem(std::string_view command, std::string_view parameter = "") {
        const Json answer = ask(command, parameter);
        return answer.is_object() && answer.contains("error") ? answer["error"].get<std::string>() : "";
    }

    std::shared_ptr<stats::LatestSnapshot> latest = std::make_shared<stats::LatestSnapshot>();
    stats::LatestSnapshot::Clock::time_point time{};
    TelemetryAnswers answers{latest, {{"name", "capture1"}, {"pid", 42}}};
};

TEST_F(TelemetryAnswersTest, BeforeTheRunOnlyTheProcessIsKnown) {
    EXPECT_EQ(ask("/spead/info").dump(), R"({"name":"capture1","pid":42,"sequence":0})");
    for (const TelemetryCommand& command : kTelemetryCommands) {
        if (std::string_view(command.name) == "/spead/info")
            continue;
        EXPECT_THAT(problem(command.name), HasSubstr("not begun")) << command.name;
    }
}

TEST_F(TelemetryAnswersTest, EveryCommandAnswers) {
    publish(test::numbered_snapshot());
    for (const TelemetryCommand& command : kTelemetryCommands)
        EXPECT_THAT(problem(command.name), testing::Not(HasSubstr("no such command"))) << command.name;
    EXPECT_THAT(problem("/spead/nothing"), HasSubstr("no such command"));
}

TEST_F(TelemetryAnswersTest, InfoCounts) {
    publish(test::numbered_snapshot());
    const Json info = ask("/spead/info");
    EXPECT_EQ(info["sequence"], 1);
    EXPECT_EQ(info["duration_s"], 2.5);
    EXPECT_EQ(info["streams"], 1);
    EXPECT_EQ(info["lcores"], 1);
    EXPECT_TRUE(info.contains("age_ms"));
}

TEST_F(TelemetryAnswersTest, PartsAreTheReports) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    // Ports know the addresses of senders.
    snapshot.streams[0].ghosts_source = 0xF1234567;
    snapshot.ports[0].talkers.push_back({"fd00::7", "s0", 1, 0, 0xF1234567});
    publish(snapshot);
    const Json report = report_document(snapshot);
    EXPECT_EQ(report["streams"][0]["info"]["ghosts_source"], "fd00::7");
    EXPECT_EQ(ask("/spead/stream", "s0"), report["streams"][0]);
    EXPECT_EQ(ask("/spead/heaps", "s0"), report["streams"][0]["heaps"]);
    EXPECT_EQ(ask("/spead/send", "d0"), report["sends"][0]);
    EXPECT_EQ(ask("/spead/port", "p0"), report["ports"][0]);
    EXPECT_EQ(ask("/spead/lcore", "1"), report["lcores"][0]);
}

TEST_F(TelemetryAnswersTest, RatesAreThereOnceThereAreTwoSnapshots) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    publish(snapshot);
    snapshot.streams[0].bytes += 1000;
    snapshot.streams[0].received += 10;
    snapshot.streams[0].heaps_delivered += 2;
    snapshot.sends[0].counters.packets += 5;
    snapshot.ports[0].rx_bytes += 3;
    publish(snapshot);
    EXPECT_EQ(ask("/spead/stream", "s0")["rates"].dump(), R"({"bytes":2000,"packets":20,"heaps":4})");
    EXPECT_EQ(ask("/spead/send", "d0")["rates"]["packets"], 10);
    EXPECT_EQ(ask("/spead/port", "p0")["rates"]["rx_bytes"], 6);
}

TEST_F(TelemetryAnswersTest, AStreamThatIsNewOrAnotherHasNoRates) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    publish(snapshot);
    stats::Snapshot next = snapshot;
    next.streams[0].bytes -= 1;  // another stream by the same name
    next.streams.push_back(snapshot.streams[0]);
    next.streams[1].name = "new";
    publish(next);
    EXPECT_FALSE(ask("/spead/stream", "s0")["rates"].contains("bytes"));
    EXPECT_FALSE(ask("/spead/stream", "new").contains("rates"));
}

TEST_F(TelemetryAnswersTest, NamesAreListed) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams.push_back(snapshot.streams[0]);
    snapshot.streams[1].name = "s1";
    publish(snapshot);
    EXPECT_EQ(ask("/spead/streams").dump(), R"(["s0","s1"])");
    EXPECT_EQ(ask("/spead/streams", "1").dump(), R"(["s1"])");
    EXPECT_EQ(ask("/spead/streams", "99").dump(), "[]");
    EXPECT_EQ(ask("/spead/sends").dump(), R"(["d0"])");
    EXPECT_EQ(ask("/spead/ports").dump(), R"(["p0"])");
    EXPECT_EQ(ask("/spead/lcores").dump(), "[1]");
}

TEST_F(TelemetryAnswersTest, WrongNamesAndNumbersSayWhatWouldBeRight) {
    publish(test::numbered_snapshot());
    EXPECT_THAT(problem("/spead/stream", "s1"), HasSubstr("did you mean `s0`"));
    EXPECT_THAT(problem("/spead/stream"), HasSubstr("/spead/stream,NAME"));
    EXPECT_THAT(problem("/spead/heaps", "x"), HasSubstr("/spead/streams"));
    EXPECT_THAT(problem("/spead/send", "s0"), HasSubstr("no send is called `s0`"));
    EXPECT_THAT(problem("/spead/lcore", "one"), HasSubstr("/spead/lcores"));
    EXPECT_THAT(problem("/spead/lcore"), HasSubstr("/spead/lcores"));
    EXPECT_THAT(problem("/spead/streams", "s0"), HasSubstr("/spead/stream,NAME"));
    EXPECT_THAT(problem("/spead/ports", "-1"), HasSubstr("/spead/port,NAME"));
    EXPECT_THAT(problem("/spead/streams", "99999999999999999999"), HasSubstr("skip"));
    stats::Snapshot empty;
    publish(empty);
    EXPECT_THAT(problem("/spead/stream", "s0"), HasSubstr("no stream here"));
}

/// Fetches a report piece by piece, as a client does.
std::string fetch(TelemetryAnswers& answers, std::uint64_t sequence, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        const Json piece =
            answers.answer("/spead/report", std::to_string(sequence) + "," + std::to_string(text.size()));
        if (!piece.is_string() || piece.get_ref<const std::string&>().empty())
            return "no piece at " + std::to_string(text.size());
        text += piece.get_ref<const std::string&>();
    }
    return text;
}

TEST_F(TelemetryAnswersTest, TheReportComesInPiecesThatFit) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    for (int i = 1; i < 200; i++) {
        snapshot.streams.push_back(snapshot.streams[0]);
        snapshot.streams.back().name = "s" + std::to_string(i);
    }
    snapshot.ports[0].driver = "gr\xc3\xbcn \xff";
    publish(snapshot);
    const Json head = ask("/spead/report");
    publish(test::numbered_snapshot());  // the pieces stay those of the first
    const std::string text = fetch(answers, head["sequence"], head["size"]);
    ASSERT_EQ(text.size(), head["size"].get<std::size_t>());
    const Json report = Json::parse(text);
    EXPECT_EQ(report["streams"].size(), 200u);
    EXPECT_EQ(report["streams"][199], [&] {
        Json stream = report_document(snapshot)["streams"][199];
        return stream;
    }());
    for (std::size_t at = 0; at < text.size(); at += 4999) {
        const Json piece = ask("/spead/report", "1," + std::to_string(at));
        EXPECT_LE(piece.get_ref<const std::string&>().size(), kTelemetryText);
        EXPECT_LE(piece.dump().size(), kTelemetryBytes + 2);
    }
    EXPECT_EQ(ask("/spead/report", "1," + std::to_string(text.size())), "");
    EXPECT_EQ(ask("/spead/report", "1,99999999"), "");
}

TEST_F(TelemetryAnswersTest, OldReportsAreForgotten) {
    for (int i = 0; i < 20; i++) {
        publish(test::numbered_snapshot());
        ask("/spead/report");
    }
    EXPECT_TRUE(ask("/spead/report", "20,0").is_string());
    EXPECT_THAT(problem("/spead/report", "1,0"), HasSubstr("begin again"));
    for (const char* const wrong : {"1", "x,0", "1,", ",", "1,x", "1,2,3"})
        EXPECT_THAT(problem("/spead/report", wrong), HasSubstr("SEQUENCE,OFFSET")) << wrong;
}

TEST_F(TelemetryAnswersTest, CapturesAreTheReports) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    publish(snapshot);
    EXPECT_EQ(ask("/spead/captures").dump(), "[]");
    snapshot.captures.resize(2);
    snapshot.captures[0].stream = "s0";
    snapshot.captures[0].taken = 12;
    snapshot.captures[1].stream = "s1";
    publish(snapshot);
    EXPECT_EQ(ask("/spead/captures"), report_document(snapshot)["captures"]);
    EXPECT_EQ(fit_telemetry(ask("/spead/captures"))["0"]["packets"]["taken"], 12);
    ASSERT_EQ(ask("/spead/captures", "1").size(), 1U);
    EXPECT_EQ(ask("/spead/captures", "1")[0]["stream"], "s1");
    EXPECT_THAT(problem("/spead/captures", "s0"), HasSubstr("all captures"));
    EXPECT_EQ(ask("/spead/info")["captures"], 2);
}

}  // namespace
}  // namespace spead::observe
