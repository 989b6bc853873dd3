// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/api.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "app/api/configuration.hpp"
#include "app/prompt/context.hpp"
#include "port/log_capture.hpp"
#include "tests/unit/app/prompt/fake_process.hpp"

namespace spead::app {
namespace {

using observe::HttpAnswer;
using observe::HttpRequest;
using observe::HttpRoute;
using observe::Json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kToken = "0123456789abcdef";

observe::ApiToken made_token() {
    const std::string path = testing::TempDir() + "/api-test-token-" + std::to_string(getpid());
    std::ofstream(path) << kToken;
    chmod(path.c_str(), 0600);
    observe::ApiToken token(path);
    std::filesystem::remove(path);
    return token;
}

class ApiTest : public testing::Test {
  protected:
    ApiTest() { latest_->publish(process_.now_); }
    static HttpRequest request(const std::string& method, const std::string& path,
                               const std::string& body = "") {
        HttpRequest made;
        made.method = method;
        made.path = path;
        made.body = body;
        made.host = "127.0.0.1";
        made.content_type = "application/json; charset=utf-8";
        made.authorization = std::string("Bearer ") + kToken;
        made.client = "127.0.0.1:4711";
        return made;
    }
    HttpAnswer ask(const HttpRequest& asked) {
        HttpRoute route = api_.route(asked).value();
        if (auto* const now = std::get_if<HttpAnswer>(&route))
            return *now;
        std::promise<HttpAnswer> answer;
        std::get<observe::HttpLater>(route).begin(asked,
                                                  [&](const HttpAnswer& made) { answer.set_value(made); });
        return answer.get_future().get();
    }
    HttpAnswer post(const std::string& path, const std::string& body) {
        return ask(request("POST", "/api/v1/" + path, body));
    }
    static std::string error_in(const HttpAnswer& answer) {
        return Json::parse(*answer.body).value("error", "");
    }
    /// Returns the words with which the prompt refuses a line.
    std::string refusal_of_prompt(const std::string& line) {
        PromptSession session;
        session.print = [](std::string_view) {};
        const Grammar grammar(prompt_commands());
        Context context{process_, grammar, session};
        try {
            carry_out(context, line);
        } catch (const Error& error) {
            return error.what();
        }
        return "done";
    }

    test::FakeProcess process_;
    std::shared_ptr<stats::LatestSnapshot> latest_ = std::make_shared<stats::LatestSnapshot>();
    Api api_{{latest_, std::make_shared<observe::EventLog>(), {{"name", "capture1"}}, made_token(), {}}};
    std::optional<Api::Attached> attached_{std::in_place, api_, process_};
};

TEST_F(ApiTest, ReadsWithoutAToken) {
    HttpRequest asked = request("GET", "/api/v1/streams/s0");
    asked.authorization.clear();
    EXPECT_EQ(ask(asked).status, 200);
    asked.path = "/api/v1/configuration";
    const HttpAnswer answer = ask(asked);
    const ConfigurationText now = configuration_text(process_.plan_);
    EXPECT_EQ(Json::parse(*answer.body), (Json{{"version", now.version}, {"toml", now.toml}}));
    EXPECT_EQ(answer.fields.back(), (std::pair<std::string, std::string>("ETag", '"' + now.version + '"')));
    asked.query = "format=toml";
    EXPECT_EQ(*ask(asked).body, now.toml);
    asked.query = "format=yaml";
    EXPECT_EQ(ask(asked).status, 400);
    asked.query.clear();
    process_.busy = true;
    EXPECT_EQ(ask(asked).status, 409);
    EXPECT_FALSE(api_.route(request("GET", "/other")));
    EXPECT_EQ(ask(request("GET", "/api/v1/other")).status, 404);
    EXPECT_EQ(ask(request("DELETE", "/api/v1/configuration")).status, 405);
    asked.host = "evil.example";
    EXPECT_EQ(ask(asked).status, 421);
}

TEST_F(ApiTest, ServesThePageToItsOwnNamesOnly) {
    EXPECT_EQ(ask(request("GET", "/")).type, "text/html; charset=utf-8");
    EXPECT_EQ(ask(request("HEAD", "/page/main.js")).status, 200);
    EXPECT_EQ(ask(request("POST", "/page/main.js")).status, 405);
    EXPECT_FALSE(api_.route(request("GET", "/page/other.js")));
    HttpRequest asked = request("GET", "/");
    asked.host = "evil.example";
    EXPECT_EQ(ask(asked).status, 421);
}

TEST_F(ApiTest, WithoutAProcessNothingChanges) {
    attached_.reset();
    EXPECT_EQ(ask(request("GET", "/api/v1/configuration")).status, 503);
    EXPECT_EQ(post("stream/stop", R"({"stream":"s0"})").status, 503);
    EXPECT_TRUE(process_.plan_.receives[0].enabled);
}

TEST_F(ApiTest, TheEndIsNoFaultOfTheRequest) {
    process_.ending = true;
    EXPECT_EQ(ask(request("GET", "/api/v1/configuration")).status, 503);
}

TEST_F(ApiTest, ShutdownWaitsForNoOtherChange) {
    std::promise<void> begun;
    std::promise<void> may_end;
    process_.on_stop_port = [&] {
        begun.set_value();
        may_end.get_future().wait();
    };
    std::promise<HttpAnswer> stopped;
    const HttpRequest stop = request("POST", "/api/v1/port/stop", R"({"port":"p0"})");
    HttpRoute route = api_.route(stop).value();
    std::get<observe::HttpLater>(route).begin(stop, [&](const HttpAnswer& made) { stopped.set_value(made); });
    begun.get_future().wait();
    EXPECT_EQ(post("shutdown", "[]").status, 400);
    EXPECT_EQ(post("shutdown", R"({"now":true})").status, 422);
    EXPECT_FALSE(process_.ended);
    EXPECT_EQ(post("shutdown", "").status, 200);
    EXPECT_TRUE(process_.ended);
    may_end.set_value();
    EXPECT_EQ(stopped.get_future().get().status, 200);
}

TEST_F(ApiTest, AConfigurationIsCarriedOutThoughItsLogLevelIsNot) {
    runtime::Plan wanted = process_.plan_;
    wanted.runtime.log_level = "debug";
    HttpRequest asked = request("PUT", "/api/v1/configuration", configuration_text(wanted).toml);
    asked.if_match = "*";
    process_.refuses_level = true;
    const HttpAnswer answer = ask(asked);
    EXPECT_EQ(answer.status, 200) << "the configuration has changed";
    EXPECT_THAT(*answer.body, HasSubstr("its log level is not set yet: control: busy"));
    EXPECT_EQ(process_.plan_.runtime.log_level, "debug");
}

TEST_F(ApiTest, AChangeHasAShortBody) {
    const std::string body = R"({"stream":"s0"})";
    const std::string spaces(Api::kLongestChange - body.size(), ' ');
    EXPECT_EQ(post("stream/stop", body + spaces).status, 200);
    EXPECT_EQ(post("stream/start", body + spaces + ' ').status, 413);
    EXPECT_FALSE(process_.plan_.receives[0].enabled);
    HttpRequest asked = request("PUT", "/api/v1/configuration",
                                configuration_text(process_.plan_).toml + '#' + spaces + spaces);
    asked.if_match = "*";
    EXPECT_EQ(ask(asked).status, 200) << "a configuration may be longer";
}

TEST_F(ApiTest, RefusalsForTooMuchAreLoggedButNoFloodOfThem) {
    port::LogCapture log;
    EXPECT_EQ(post("stream/stop", std::string(Api::kLongestChange + 1, ' ')).status, 413);
    EXPECT_EQ(post("shutdown", std::string(Api::kLongestChange + 1, ' ')).status, 413);
    EXPECT_THAT(log.take_reason(),
                AllOf(HasSubstr("api: 127.0.0.1:4711 asked for `POST /api/v1/stream/stop` in vain: 413"),
                      HasSubstr("asked for `POST /api/v1/shutdown` in vain: 413")));
    std::promise<void> begun;
    std::promise<void> may_end;
    process_.on_stop_port = [&, first = true]() mutable {
        if (!std::exchange(first, false))
            return;
        begun.set_value();
        may_end.get_future().wait();
    };
    const HttpRequest stop = request("POST", "/api/v1/port/stop", R"({"port":"p0"})");
    std::vector<int> refused;
    std::atomic<std::size_t> answers{0};
    const auto ask_for_stop = [&] {
        HttpRoute route = api_.route(stop).value();
        std::get<observe::HttpLater>(route).begin(stop, [&](const HttpAnswer& made) {
            if (made.status != 200)
                refused.push_back(made.status);
            answers++;
        });
    };
    ask_for_stop();
    begun.get_future().wait();
    constexpr std::size_t kFlood = 200;
    for (std::size_t i = 1; i < kFlood; i++)
        ask_for_stop();
    EXPECT_THAT(refused, AllOf(SizeIs(kFlood - 1 - WorkQueue::kMost), Each(503)));
    const std::string said = log.take_reason();
    EXPECT_THAT(said, HasSubstr("asked for `POST /api/v1/port/stop` in vain: 503"));
    EXPECT_LT(said.size(), 1000U) << said;
    may_end.set_value();
    while (answers < kFlood)
        std::this_thread::yield();
}

TEST_F(ApiTest, ChangesAreThoseOfThePrompt) {
    const HttpAnswer answer = post("stream/stop", R"({"stream":"s0"})");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(Json::parse(*answer.body)["done"], "stream s0 is stopped; its counters stay");
    EXPECT_FALSE(process_.plan_.receives[0].enabled);
    EXPECT_EQ(post("stream/add", R"({"name":"s1","port":"p0","endpoints":"239.9.0.0:7148",
                                     "settings":{"heaps.queue_depth":64}})")
                  .status,
              200);
    EXPECT_EQ(process_.plan_.receives.at(1).queue_depth, 64U);
    EXPECT_EQ(post("port/stop", R"({"port":"p0"})").status, 200);
    EXPECT_EQ(process_.done.back(), "stop port p0");
    EXPECT_EQ(post("log/level", R"({"level":"debug"})").status, 200);
    EXPECT_EQ(process_.level, "debug");
    EXPECT_EQ(post("shutdown", "").status, 200);
    EXPECT_TRUE(process_.ended);
}

TEST_F(ApiTest, RefusalsAreThoseOfThePrompt) {
    const runtime::Plan before = process_.plan_;
    process_.refuses = "port p0: the device refuses the rule";
    HttpAnswer answer = post("endpoint/add", R"({"stream":"s0","endpoints":"239.9.0.9:7148"})");
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(error_in(answer), refusal_of_prompt("endpoint add s0 239.9.0.9:7148"));
    process_.refuses.clear();
    answer = post("stream/stop", R"({"stream":"nope"})");
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(error_in(answer), refusal_of_prompt("stream stop nope"));
    answer = post("send/set", R"({"send":"d0","settings":{"ttl":300}})");
    EXPECT_EQ(answer.status, 422);
    EXPECT_EQ(error_in(answer), refusal_of_prompt("send set d0 ttl 300"));
    EXPECT_EQ(post("stream/stop", R"({"streams":"s0"})").status, 422);
    for (const char* const bad : {"{", "[]", "7", "\"s0\"", "{\"stream\":\"s0\"}x"})
        EXPECT_EQ(post("stream/stop", bad).status, 400) << bad;
    EXPECT_EQ(post("stream/stop", std::string(1000, '[')).status, 400);
    answer = post("stream/set", R"({"stream":"s0","settings":{"poll":"busy","poll":"adaptive"}})");
    EXPECT_EQ(answer.status, 422);
    EXPECT_EQ(error_in(answer), "poll: the body has it twice; send it once");
    EXPECT_EQ(process_.plan_, before);
}

TEST_F(ApiTest, ChangesNeedTheTokenAndJson) {
    const std::string body = R"({"stream":"s0"})";
    HttpRequest asked = request("POST", "/api/v1/stream/stop", body);
    asked.authorization = "Bearer 0123456789abcdeF";
    EXPECT_EQ(ask(asked).status, 401);
    asked = request("POST", "/api/v1/stream/stop", body);
    asked.origin = "http://evil.example";
    EXPECT_EQ(ask(asked).status, 403);
    asked = request("POST", "/api/v1/stream/stop", body);
    asked.content_type = "text/plain";
    EXPECT_EQ(ask(asked).status, 415);
    EXPECT_EQ(ask(request("GET", "/api/v1/stream/stop")).status, 405);
    EXPECT_TRUE(process_.plan_.receives[0].enabled);
    Api closed({latest_, std::make_shared<observe::EventLog>(), {}, std::nullopt, {}});
    for (const char* const method : {"POST", "PUT"}) {
        const HttpRoute route =
            closed
                .route(request(method,
                               std::string(method) == "PUT" ? "/api/v1/configuration" : "/api/v1/shutdown"))
                .value();
        EXPECT_EQ(std::get<HttpAnswer>(route).status, 403);
    }
}

TEST_F(ApiTest, AConfigurationReplacesTheVersionThatItsClientSaw) {
    runtime::Plan wanted = process_.plan_;
    wanted.receives[0].queue_depth = 77;
    HttpRequest asked = request("PUT", "/api/v1/configuration", configuration_text(wanted).toml);
    EXPECT_EQ(ask(asked).status, 428);
    asked.if_match = "\"0000000000000000\"";
    const HttpAnswer stale = ask(asked);
    EXPECT_EQ(stale.status, 412);
    EXPECT_THAT(error_in(stale), HasSubstr(configuration_text(process_.plan_).version));
    EXPECT_NE(process_.plan_.receives[0].queue_depth, 77U);
    asked.if_match = '"' + configuration_text(process_.plan_).version + '"';
    process_.plan_.runtime.live = true;
    process_.plan_.shard = runtime::ShardOf{1, 4, 16};
    EXPECT_EQ(ask(asked).status, 412) << "somebody else was quicker";
    asked.if_match = '"' + configuration_text(process_.plan_).version + '"';
    EXPECT_EQ(Json::parse(*ask(asked).body)["done"], "the configuration was carried out: 1 stream, 1 sender");
    EXPECT_EQ(process_.plan_.receives[0].queue_depth, 77U);
    EXPECT_TRUE(process_.plan_.runtime.live) << "it was made to be changed";
    EXPECT_EQ(process_.plan_.shard, (runtime::ShardOf{1, 4, 16})) << "it was started as one of several";
    asked.if_match = "*";
    EXPECT_EQ(Json::parse(*ask(asked).body)["done"], "the configuration had no changes");
    asked.body = "version = 1\n[runtime]\nnonsense = 1\n";
    const HttpAnswer wrong = ask(asked);
    EXPECT_EQ(wrong.status, 422);
    EXPECT_THAT(error_in(wrong), HasSubstr("configuration:3"));
}

}  // namespace
}  // namespace spead::app
