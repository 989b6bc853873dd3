// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_answers.hpp"

#include <gmock/gmock.h>

#include "observe/report.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

class ApiAnswersTest : public testing::Test {
  protected:
    std::optional<HttpRoute> ask(const std::string& path, const std::string& query = "",
                                 const std::string& method = "GET") {
        HttpRequest request;
        request.method = method;
        request.path = path;
        request.query = query;
        request.last_event_id = last_event_id;
        return answers.route(request);
    }
    HttpAnswer answer(const std::string& path, const std::string& query = "",
                      const std::string& method = "GET") {
        return std::get<HttpAnswer>(ask(path, query, method).value());
    }
    Json json(const std::string& path, const std::string& query = "") {
        const HttpAnswer made = answer(path, query);
        EXPECT_EQ(made.status, 200) << path << *made.body;
        return Json::parse(*made.body);
    }
    std::string refusal(int status, const std::string& path, const std::string& query = "") {
        const HttpAnswer made = answer(path, query);
        EXPECT_EQ(made.status, status) << path << *made.body;
        return Json::parse(*made.body)["error"];
    }

    std::shared_ptr<stats::LatestSnapshot> latest = std::make_shared<stats::LatestSnapshot>();
    std::shared_ptr<EventLog> events = std::make_shared<EventLog>();
    std::string last_event_id;
    ApiAnswers answers{latest, events, {{"name", "capture1"}, {"pid", 42}}};
};

TEST_F(ApiAnswersTest, BeforeTheRunOnlyTheProcessIsKnown) {
    const Json summary = json("/api/v1");
    EXPECT_EQ(summary["name"], "capture1");
    EXPECT_EQ(summary["sequence"], 0);
    EXPECT_EQ(summary["age_s"], Json());
    EXPECT_EQ(json("/api/v1/events")["events"], Json::array());
    EXPECT_THAT(refusal(503, "/api/v1/report"), HasSubstr("not begun"));
    EXPECT_THAT(refusal(503, "/api/v1/streams/s0"), HasSubstr("not begun"));
}

TEST_F(ApiAnswersTest, EveryPartIsTheReports) {
    latest->publish(test::numbered_snapshot());
    const Json report = Json::parse(report_json(test::numbered_snapshot()));
    EXPECT_EQ(json("/api/v1/report"), report);
    for (const char* const list : {"streams", "ports", "lcores", "sends", "captures", "findings"}) {
        const std::string path = std::string("/api/v1/") + list;
        EXPECT_EQ(json(path), report.contains(list) ? report[list] : Json::array()) << list;
    }
    EXPECT_EQ(json("/api/v1/streams/s0"), report["streams"][0]);
    EXPECT_EQ(json("/api/v1/streams/%730"), report["streams"][0]);
    EXPECT_EQ(json("/api/v1/ports/p0"), report["ports"][0]);
    EXPECT_EQ(json("/api/v1/lcores/1"), report["lcores"][0]);
    EXPECT_THAT(refusal(404, "/api/v1/streams/nope"),
                "no stream is called `nope`; /api/v1/streams lists them");
    EXPECT_EQ(answer("/api/v1/streams").fields.at(1).second, "\"1\"") << "the snapshot's sequence";
    EXPECT_GT(json("/api/v1")["duration_s"], 0);
}

TEST_F(ApiAnswersTest, ChunksAreThoseOfTheStreamsThatHaveSome) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams.push_back(snapshot.streams[0]);
    snapshot.streams[1].name = "s1";
    snapshot.streams[0].chunks = {};
    snapshot.streams[0].axes.clear();
    snapshot.streams[0].chunks_counted_with.clear();
    snapshot.streams[1].chunks.buffers = 8;
    latest->publish(snapshot);
    const Json chunks = json("/api/v1/chunks");
    ASSERT_EQ(chunks.size(), 1U);
    EXPECT_EQ(chunks[0]["name"], "s1");
    EXPECT_EQ(chunks[0]["chunks"], json("/api/v1/streams")[1]["chunks"]);
}

TEST_F(ApiAnswersTest, OtherPathsAndMethodsAreRefused) {
    latest->publish(test::numbered_snapshot());
    for (const char* const other : {"/", "/api", "/api/v2/report", "/api/v1/nothing", "/api/v1/streams/a/b"})
        EXPECT_FALSE(ask(other)) << other;
    EXPECT_EQ(answer("/api/v1/report", "", "POST").status, 405);
    EXPECT_EQ(answer("/api/v1/report", "", "HEAD").status, 200);
    EXPECT_THAT(refusal(400, "/api/v1/%"), HasSubstr("hexadecimal"));
    EXPECT_THAT(refusal(400, "/api/v1/report", "since=1"), HasSubstr("means nothing here"));
    EXPECT_THAT(refusal(400, "/api/v1/events", "since=-1"), HasSubstr("since is `-1`"));
}

TEST_F(ApiAnswersTest, EventsSinceANumber) {
    for (const char* const name : {"s0", "s1", "s2"})
        events->add(name, {.kind = stats::StreamEvent::silent, .at_s = 1, .text = "no packet for 1 s"});
    const Json all = json("/api/v1/events", "since=1");
    EXPECT_EQ(all["last"], 3);
    EXPECT_EQ(all["lost"], 0);
    ASSERT_EQ(all["events"].size(), 2U);
    EXPECT_EQ(all["events"][0]["name"], "s1");
    EXPECT_EQ(json("/api/v1")["last_event"], 3);
}

TEST_F(ApiAnswersTest, AStreamHasEachReportAndEventOnce) {
    latest->publish(test::numbered_snapshot());
    events->add("old", {.kind = stats::StreamEvent::silent, .at_s = 1, .text = "x"});
    HttpStream stream = std::get<HttpStream>(ask("/api/v1/stream", "interval=500ms").value());
    EXPECT_EQ(stream.interval, std::chrono::milliseconds(500));
    const std::string first = stream.next(0);
    EXPECT_THAT(first, testing::StartsWith("event: report\ndata: {\"version\":"));
    EXPECT_THAT(first, testing::EndsWith("}\n\n"));
    EXPECT_EQ(Json::parse(first.substr(first.find('{'))), json("/api/v1/report"));
    EXPECT_EQ(stream.next(0), "");
    events->add("new", {.kind = stats::StreamEvent::silent, .at_s = 1, .text = "x"});
    EXPECT_THAT(stream.next(0), testing::StartsWith("event: event\nid: 2\ndata: {\"sequence\":2,"));
    latest->publish(test::numbered_snapshot());
    EXPECT_THAT(stream.next(3),
                testing::StartsWith("event: left_out\ndata: {\"reports\":3}\n\nevent: report\n"));
}

TEST_F(ApiAnswersTest, AStreamGoesOnAfterTheLastEventThatWasSeen) {
    for (std::size_t i = 0; i < EventLog::kMost + 5; i++)
        events->add("s0", {.kind = stats::StreamEvent::silent, .at_s = 1, .text = "x"});
    last_event_id = "1004";
    HttpStream stream = std::get<HttpStream>(ask("/api/v1/stream").value());
    EXPECT_THAT(stream.next(0), testing::StartsWith("event: event\nid: 1005\n"));
    last_event_id.clear();
    stream = std::get<HttpStream>(ask("/api/v1/stream", "since=2").value());
    EXPECT_THAT(stream.next(0),
                testing::StartsWith("event: left_out\ndata: {\"events\":3}\n\nevent: event\nid: 6\n"));
    last_event_id = "1006";
    stream = std::get<HttpStream>(ask("/api/v1/stream").value());
    EXPECT_THAT(stream.next(0), testing::StartsWith("event: left_out\ndata: {\"events\":5}\n"))
        << "it is of a process before this one";
    last_event_id.clear();
    for (const char* const bad :
         {"interval=0", "interval=100ms", "interval=61s", "interval=x", "since=x", "parts=1"})
        refusal(400, "/api/v1/stream", bad);
}

}  // namespace
}  // namespace spead::observe
