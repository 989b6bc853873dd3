// SPDX-License-Identifier: BSD-3-Clause
// Any parameter of any telemetry command, and any JSON as an answer: what is said fits what DPDK carries.

#include <algorithm>
#include <memory>
#include <string>

#include "observe/telemetry_answers.hpp"
#include "observe/telemetry_fit.hpp"
#include "stats/latest_snapshot.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace {

using namespace spead;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using observe::kTelemetryCommands;
using Json = nlohmann::ordered_json;

/// Exceeds the depth of every answer of ours.
constexpr std::size_t kDeepest = 40;

std::shared_ptr<const stats::LatestSnapshot> latest() {
    auto made = std::make_shared<stats::LatestSnapshot>();
    stats::Snapshot snapshot = test::numbered_snapshot();
    for (int i = 0; i < 40; i++) {
        snapshot.streams.push_back(snapshot.streams.front());
        snapshot.streams.back().name = "stream-" + std::to_string(i);
    }
    made->publish(snapshot, stats::LatestSnapshot::Clock::now() - std::chrono::seconds(2));
    made->publish(snapshot);
    return made;
}

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void check_value(const Json& value) {
    require(!value.is_null() && !value.is_boolean() && !value.is_number_float(),
            "telemetry has neither null, nor truth, nor fractions");
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        require(is_plain(text) && text.size() <= observe::kTelemetryString, "strings are short and plain");
    }
    if (value.is_object()) {
        for (const auto& [name, member] : value.items()) {
            require(std::ranges::all_of(name,
                                        [](char c) {
                                            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                                   (c >= '0' && c <= '9') || c == '_';
                                        }),
                    "names are what telemetry takes");
            check_value(member);
        }
    }
    if (value.is_array()) {
        const bool strings = std::ranges::all_of(value, [](const Json& v) { return v.is_string(); });
        const bool counts = std::ranges::all_of(value, [](const Json& v) { return v.is_number_integer(); });
        require(strings || counts, "a list is of strings or of counts");
        for (const Json& element : value) {
            check_value(element);
        }
    }
}

void check_answer(const Json& answer) {
    if (answer.is_string()) {
        const auto& text = answer.get_ref<const std::string&>();
        require(text.size() <= observe::kTelemetryText && is_plain(text), "a text fits as it is");
        return;
    }
    require(answer.is_object() || answer.is_array(), "an answer is an object, a list or a text");
    const Json fitted = observe::fit_telemetry(answer);
    require(fitted.is_object() || fitted.is_array(), "it stays one");
    check_value(fitted);
    require(fitted.dump().size() <= observe::kTelemetryBytes, "an answer fits");
}

/// Checks that all pieces of the report make the document again.
void check_report(observe::TelemetryAnswers& answers) {
    const Json head = answers.answer("/spead/report", "");
    const auto size = head.at("size").get<std::size_t>();
    std::string text;
    while (text.size() < size) {
        const Json piece =
            answers.answer("/spead/report", std::to_string(head.at("sequence").get<std::uint64_t>()) + "," +
                                                std::to_string(text.size()));
        check_answer(piece);
        require(!piece.get_ref<const std::string&>().empty(), "every piece has something");
        text += piece.get_ref<const std::string&>();
    }
    require(text.size() == size && Json::accept(text), "the pieces are the report");
}

std::size_t depth(std::string_view text) {
    std::size_t now = 0;
    std::size_t most = 0;
    for (const char c : text) {
        now += c == '[' || c == '{' ? 1 : 0;
        now -= (c == ']' || c == '}') && now > 0 ? 1 : 0;
        most = std::max(most, now);
    }
    return most;
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    const auto add = [&inputs](std::size_t command, std::string_view parameter) {
        Input input = {static_cast<std::uint8_t>(command)};
        input.insert(input.end(), parameter.begin(), parameter.end());
        inputs.push_back(input);
    };
    for (std::size_t i = 0; i < observe::kTelemetryCommands.size(); i++) {
        for (const char* const parameter :
             {"", "s0", "d0", "p0", "0", "1", "18446744073709551616", "1,0", "2,8000", "-1"}) {
            add(i, parameter);
        }
    }
    for (const char* const json :
         {R"({"a":[1,2,3],"b":{"c":"text","d":-5},"e":1.5,"f":true,"g":null})", R"(["a","b",{"c":[[],[1]]}])",
          R"({"a b":"ä","":1,"long":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]})"}) {
        add(255, json);
    }
    return inputs;
}

/// Reads a command from the first byte, its parameter from the others. From 128 on the others are an answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static observe::TelemetryAnswers answers(latest(), {{"name", "fuzz"}});
    static const bool whole = (check_report(answers), true);
    (void)whole;
    Choices choices({data, size});
    const std::size_t which = choices.byte();
    const auto rest = choices.rest();
    const std::string text(rest.begin(), rest.end());
    if (which < 128) {
        check_answer(answers.answer(
            observe::kTelemetryCommands[which % observe::kTelemetryCommands.size()].name, text));
    } else if (depth(text) <= kDeepest) {
        const Json answer = Json::parse(text, nullptr, false);
        if (answer.is_object() || answer.is_array()) {
            check_answer(answer);
        }
    }
    return 0;
}
