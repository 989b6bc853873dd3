// SPDX-License-Identifier: BSD-3-Clause
// Any path, query, field and body of a request to the API, after HTTP is parsed: an answer or a refusal in
// JSON.

#include <memory>
#include <string>

#include "app/api/change_words.hpp"
#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "observe/api_access.hpp"
#include "observe/api_answers.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace {

using namespace spead;
using fuzz::Input;
using fuzz::require;
using observe::HttpAnswer;
using observe::HttpRequest;
using observe::Json;

observe::ApiAnswers make_answers() {
    auto latest = std::make_shared<stats::LatestSnapshot>();
    latest->publish(test::numbered_snapshot());
    auto events = std::make_shared<observe::EventLog>();
    events->add("s0", {.kind = stats::StreamEvent::silent, .at_s = 1, .text = "no packet for 1 s"});
    return {latest, events, {{"name", "fuzz"}}};
}

/// Returns the input's next line, and removes it.
std::string take_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
}

void check(const HttpAnswer& answer) {
    require(answer.body != nullptr && Json::accept(*answer.body), "an answer is JSON");
    require((answer.status == 200) == !Json::parse(*answer.body).contains("error"), "only errors say so");
}

void check_route(observe::HttpRoute& route) {
    if (const auto* const now = std::get_if<HttpAnswer>(&route)) {
        check(*now);
        return;
    }
    auto& stream = std::get<observe::HttpStream>(route);
    require(stream.interval.count() >= 200 && stream.interval.count() <= 60'000, "intervals are bounded");
    require(stream.next(0).ends_with("\n\n"), "a text has whole events");
}

/// Checks that a body becomes words of its command, or is refused.
void check_change(const app::ChangePath& change, const Json& body) {
    try {
        const std::vector<std::string> words = app::words_of(change, body);
        require(words.size() >= change.words.size() &&
                    std::equal(change.words.begin(), change.words.end(), words.begin()),
                "no body makes another command");
    } catch (const UsageError&) {
        return;
    }
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    for (const std::string_view text :
         {"GET\n/api/v1/report\n\n127.0.0.1:9100\n\n\n",
          "GET\n/api/v1/streams/%730\n\nlocalhost\nhttp://localhost\n\n",
          "GET\n/api/v1/events\nsince=0\n[::1]:9100\n\n\n",
          "GET\n/api/v1/stream\ninterval=250ms&since=1\nx\n\n7\n",
          "POST\n/api/v1/lcores/1\n\nevil.example\n\n\n{\"stream\":\"s0\",\"settings\":{\"poll\":\"busy\"}}",
          "PUT\n/"
          "\n\n\n\n\n{\"name\":\"s1\",\"port\":\"p0\",\"endpoints\":\"239.1.2.3:7148\",\"force\":true,"
          "\"packets\":7}"})
        inputs.emplace_back(text.begin(), text.end());
    return inputs;
}

/// Reads method, path, query, host, origin and last event from a line each, and the body from the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static observe::ApiAnswers answers = make_answers();
    static const std::vector<app::ChangePath> changes = app::change_paths();
    const std::string text(data, data + size);
    std::string_view rest = text;
    HttpRequest request;
    request.method = take_line(rest);
    request.path = take_line(rest);
    request.query = take_line(rest);
    request.host = take_line(rest);
    request.origin = take_line(rest);
    request.last_event_id = take_line(rest);
    if (const auto refusal = observe::why_not_change(request, {"capture1"}, nullptr))
        check(*refusal);
    else
        require(false, "nobody changes anything without a token");
    if (auto route = answers.route(request))
        check_route(*route);
    const Json body = parse_foreign<Json>(rest);
    if (body.is_object())
        for (const app::ChangePath& change : changes)
            check_change(change, body);
    return 0;
}
