// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_answers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "observe/api_query.hpp"
#include "observe/report.hpp"

namespace spead::observe {

namespace {

constexpr std::string_view kRoot = "/api/v1";
/// Bounds the interval of streams, in seconds. Snapshots come five times a second.
constexpr double kShortestInterval = 0.2;
constexpr double kLongestInterval = 60;

HttpAnswer json_answer(std::shared_ptr<const std::string> text, std::uint64_t sequence) {
    return {.type = "application/json",
            .body = std::move(text),
            .fields = {{"Cache-Control", "no-store"}, {"ETag", fmt::format("\"{}\"", sequence)}}};
}
HttpAnswer json_answer(const Json& json, std::uint64_t sequence) {
    return json_answer(std::make_shared<const std::string>(text_of(json) + "\n"), sequence);
}

/// Returns the resource of a path, and the name in it.
std::pair<std::string_view, std::string> resource_of(const std::vector<std::string>& parts) {
    for (const ApiResource& resource : kApiResources) {
        const auto wanted = path_parts(resource.path).value();
        if (wanted.size() != parts.size())
            continue;
        std::string name;
        bool same = true;
        for (std::size_t i = 0; i < parts.size() && same; i++) {
            if (wanted[i].starts_with('{'))
                name = parts[i];
            else
                same = wanted[i] == parts[i];
        }
        if (same)
            return {resource.path, name};
    }
    return {};
}

Json chunks_of(const Json& report) {
    Json list = Json::array();
    for (const Json& stream : report["streams"])
        if (stream.contains("chunks")) {
            Json entry = {{"name", stream["name"]}, {"chunks", stream["chunks"]}};
            if (stream.contains("axes"))
                entry["axes"] = stream["axes"];
            list.push_back(std::move(entry));
        }
    return list;
}

/// Returns the name of an entry of a list of the report.
std::string name_in(const Json& entry, std::string_view list) {
    return list == "lcores" ? fmt::format("{}", entry["lcore"].get<unsigned>())
                            : entry["name"].get<std::string>();
}

}  // namespace

/// Keeps the latest report, made once however many ask.
struct ApiAnswers::Report {
    std::shared_ptr<const stats::LatestSnapshot> latest;
    std::uint64_t sequence = 0;
    std::shared_ptr<const Json> document{};
    std::shared_ptr<const std::string> text{};

    void take(const View& view) {
        if (document != nullptr && sequence == view.latest.sequence)
            return;
        document = std::make_shared<const Json>(report_document(*view.latest.snapshot));
        text = std::make_shared<const std::string>(text_of(*document) + "\n");
        sequence = view.latest.sequence;
    }
};

ApiAnswers::ApiAnswers(std::shared_ptr<const stats::LatestSnapshot> latest,
                       std::shared_ptr<const EventLog> events, Json facts)
    : report_(std::make_shared<Report>(Report{.latest = std::move(latest)})),
      events_(std::move(events)),
      facts_(std::move(facts)) {}

std::optional<HttpRoute> ApiAnswers::route(const HttpRequest& request) {
    const auto parts = path_parts(request.path);
    if (!parts)
        return error_answer(400, "the path has a `%` without two hexadecimal digits");
    const auto [resource, name] = resource_of(*parts);
    if (resource.empty())
        return std::nullopt;
    if (!request.reads())
        return method_answer(request, "GET, HEAD");
    try {
        return answer(request, resource, name);
    } catch (const UsageError& error) {
        return error_answer(400, error.what());
    }
}

HttpRoute ApiAnswers::answer(const HttpRequest& request, std::string_view resource, const std::string& name) {
    const View view = report_->latest->look();
    if (resource == "/api/v1/events")
        return events(request);
    if (resource == "/api/v1/stream")
        return stream(request);
    query_values(request.query, {});
    if (resource == kRoot)
        return summary(view);
    if (!view)
        return error_answer(503, "the run has not begun yet; ask again");
    report_->take(view);
    if (resource == "/api/v1/report")
        return json_answer(report_->text, view.latest.sequence);
    if (resource == "/api/v1/chunks")
        return json_answer(chunks_of(*report_->document), view.latest.sequence);
    resource.remove_prefix(kRoot.size() + 1);
    return part(view, resource.substr(0, resource.find('/')), name);
}

HttpAnswer ApiAnswers::summary(const View& view) const {
    Json json = facts_;
    json["sequence"] = view.latest.sequence;
    json["age_s"] = view ? Json(std::chrono::duration<double>(view.age).count()) : Json();
    json["duration_s"] = view ? Json(view.latest.snapshot->duration_s) : Json();
    json["last_event"] = events_->since(UINT64_MAX).last;
    for (const ApiResource& resource : kApiResources)
        json["paths"].push_back(resource.path);
    return json_answer(json, view.latest.sequence);
}

/// Returns a list of the report, or its entry of this name.
HttpAnswer ApiAnswers::part(const View& view, std::string_view list, const std::string& name) {
    const auto found = report_->document->find(list);
    static const Json kNone = Json::array();
    const Json& entries = found == report_->document->end() ? kNone : *found;
    if (name.empty())
        return json_answer(entries, view.latest.sequence);
    for (const Json& entry : entries)
        if (name_in(entry, list) == name)
            return json_answer(entry, view.latest.sequence);
    const std::string_view kind = list.substr(0, list.size() - 1);
    return error_answer(404, fmt::format("no {} is called `{}`; /api/v1/{} lists them", kind, name, list));
}

HttpAnswer ApiAnswers::events(const HttpRequest& request) const {
    const auto query = query_values(request.query, {"since"});
    const auto since = query.find("since");
    const EventLog::Look look =
        events_->since(since == query.end() ? 0 : query_number(since->second, "since"));
    Json json = {{"last", look.last}, {"lost", look.lost}, {"events", Json::array()}};
    for (const EventLog::Event& event : look.events)
        json["events"].push_back(event_json(event));
    return json_answer(json, look.last);
}

/// Begins a stream: `report` at each interval, `event` for each event, `left_out` when some were.
HttpRoute ApiAnswers::stream(const HttpRequest& request) const {
    const auto query = query_values(request.query, {"interval", "since"});
    double interval = 1;
    if (const auto given = query.find("interval"); given != query.end())
        interval = parse_duration(given->second, "interval");
    if (interval < kShortestInterval || interval > kLongestInterval)
        throw_usage("interval", "{} s is not from 200 ms to 60 s", interval);
    const std::uint64_t last = events_->since(UINT64_MAX).last;
    std::uint64_t seen = last;
    if (!request.last_event_id.empty())
        seen = query_number(request.last_event_id, "Last-Event-ID");
    if (const auto given = query.find("since"); given != query.end())
        seen = query_number(given->second, "since");
    // Such a number is of an earlier process, whose client has seen nothing of this one.
    if (seen > last)
        seen = 0;
    return HttpStream{.interval = std::chrono::milliseconds(static_cast<std::int64_t>(interval * 1000)),
                      .next = [report = report_, events = events_, seen,
                               sent = std::uint64_t{0}](std::size_t left_out) mutable {
                          std::string text;
                          if (left_out != 0)
                              text += fmt::format("event: left_out\ndata: {{\"reports\":{}}}\n\n", left_out);
                          const EventLog::Look look = events->since(seen);
                          if (look.lost != 0)
                              text += fmt::format("event: left_out\ndata: {{\"events\":{}}}\n\n", look.lost);
                          for (const EventLog::Event& event : look.events)
                              text += fmt::format("event: event\nid: {}\ndata: {}\n\n", event.sequence,
                                                  text_of(event_json(event)));
                          seen = look.last;
                          const View view = report->latest->look();
                          if (view && view.latest.sequence != sent) {
                              report->take(view);
                              sent = view.latest.sequence;
                              text += fmt::format("event: report\ndata: {}\n", *report->text);
                          }
                          return text;
                      }};
}

}  // namespace spead::observe
