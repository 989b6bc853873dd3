// SPDX-License-Identifier: BSD-3-Clause
#include "observe/telemetry_answers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/core.h>

#include "base/suggest.hpp"
#include "observe/capture_report.hpp"
#include "observe/json.hpp"
#include "observe/report.hpp"
#include "observe/report_details.hpp"
#include "observe/telemetry_fit.hpp"
#include "stats/rates.hpp"

namespace spead::observe {

namespace {

using stats::Snapshot;
using View = stats::LatestSnapshot::View;

/// Limits the kept texts of reports: several clients may each read one.
constexpr std::size_t kTexts = 8;

Json error(std::string_view what) {
    return Json{{"error", what}};
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (text.empty() || problem != std::errc{} || stop != end)
        return std::nullopt;
    return value;
}

double seconds_between(const View& view) {
    return view.earlier ? std::chrono::duration<double>(view.latest.time - view.earlier.time).count() : 0;
}

/// Adds rates per second, rounded; leaves out unknown ones.
class RateMembers {
  public:
    explicit RateMembers(double seconds) : seconds_(seconds) {}
    void add(const char* name, std::uint64_t earlier, std::uint64_t later) {
        if (const auto rate = stats::rate(earlier, later, seconds_))
            json_[name] = static_cast<std::uint64_t>(std::llround(*rate));
    }
    Json take() { return std::move(json_); }

  private:
    double seconds_;
    Json json_ = Json::object();
};

Json rates_of(const stats::StreamSnapshot& then, const stats::StreamSnapshot& now, double seconds) {
    RateMembers rates(seconds);
    rates.add("bytes", then.bytes, now.bytes);
    rates.add("packets", then.received, now.received);
    rates.add("heaps", then.heaps_delivered, now.heaps_delivered);
    return rates.take();
}

Json rates_of(const stats::SendSnapshot& then, const stats::SendSnapshot& now, double seconds) {
    RateMembers rates(seconds);
    rates.add("bytes", then.counters.bytes, now.counters.bytes);
    rates.add("packets", then.counters.packets, now.counters.packets);
    rates.add("heaps", then.counters.heaps, now.counters.heaps);
    return rates.take();
}

Json rates_of(const stats::PortSnapshot& then, const stats::PortSnapshot& now, double seconds) {
    RateMembers rates(seconds);
    rates.add("rx_bytes", then.rx_bytes, now.rx_bytes);
    rates.add("rx_packets", then.rx_packets, now.rx_packets);
    rates.add("tx_bytes", then.tx_bytes, now.tx_bytes);
    rates.add("tx_packets", then.tx_packets, now.tx_packets);
    return rates.take();
}

template <typename Part>
Json names(const std::vector<Part>& parts, std::size_t skip) {
    Json list = Json::array();
    for (std::size_t i = skip; i < parts.size(); i++)
        list.push_back(parts[i].name);
    return list;
}

template <typename Part>
Json unknown(const std::vector<Part>& parts, std::string_view kind, std::string_view name) {
    if (parts.empty())
        return error(fmt::format("there is no {} here", kind));
    std::vector<std::string_view> known;
    known.reserve(parts.size());
    for (const Part& part : parts)
        known.push_back(part.name);
    return error(
        fmt::format("no {} is called `{}`{}; /spead/{}s lists them", kind, name, hint(name, known), kind));
}

/// Returns the report's entry of that name with its rates.
template <typename Part>
Json part(const View& view, std::vector<Part> Snapshot::*parts, std::string_view kind,
          std::string_view name) {
    const std::vector<Part>& now = (*view.latest.snapshot).*parts;
    if (name.empty())
        return error(fmt::format(
            "the name of the {0} is missing; write /spead/{0},NAME; /spead/{0}s lists them", kind));
    const Part* const found = stats::find(now, name);
    if (found == nullptr)
        return unknown(now, kind, name);
    Snapshot alone;
    alone.ticks_per_second = view.latest.snapshot->ticks_per_second;
    alone.by_configuration = view.latest.snapshot->by_configuration;
    // Ports know the addresses of senders.
    if constexpr (std::is_same_v<Part, stats::StreamSnapshot>)
        alone.ports = view.latest.snapshot->ports;
    (alone.*parts).push_back(*found);
    Json entry = std::move(report_document(alone)[fmt::format("{}s", kind)][0]);
    if (view.earlier)
        if (const Part* const then = stats::find_same((*view.earlier.snapshot).*parts, *found))
            entry["rates"] = rates_of(*then, *found, seconds_between(view));
    return entry;
}

Json lcore(const Snapshot& now, std::string_view text) {
    const auto wanted = number(text);
    for (const stats::LcoreSnapshot& l : now.lcores)
        if (wanted && l.lcore == *wanted) {
            Snapshot alone;
            alone.ticks_per_second = now.ticks_per_second;
            alone.lcores.push_back(l);
            return report_document(alone)["lcores"][0];
        }
    return error(fmt::format("no worker lcore has the number `{}`; /spead/lcores lists them", text));
}

}  // namespace

TelemetryAnswers::TelemetryAnswers(std::shared_ptr<const stats::LatestSnapshot> latest, Json facts)
    : latest_(std::move(latest)), facts_(std::move(facts)) {}

Json TelemetryAnswers::answer(std::string_view command, std::string_view parameter) {
    const View view = latest_->look();
    if (command == "/spead/info")
        return info(view);
    if (!view)
        return error("the run has not begun yet; ask again");
    const Snapshot& now = *view.latest.snapshot;
    if (command == "/spead/report")
        return report(view, parameter);
    if (command == "/spead/stream")
        return part(view, &Snapshot::streams, "stream", parameter);
    if (command == "/spead/heaps") {
        Json stream = part(view, &Snapshot::streams, "stream", parameter);
        return stream.contains("error") ? stream : std::move(stream["heaps"]);
    }
    if (command == "/spead/send")
        return part(view, &Snapshot::sends, "send", parameter);
    if (command == "/spead/port")
        return part(view, &Snapshot::ports, "port", parameter);
    if (command == "/spead/lcore")
        return lcore(now, parameter);
    if (command == "/spead/findings")
        return findings_json(now);

    const auto skip = parameter.empty() ? std::optional<std::uint64_t>(0) : number(parameter);
    if (!skip)
        return error(fmt::format("`{}` is not a number of names to skip; {}", parameter,
                                 command == "/spead/streams"    ? "/spead/stream,NAME shows one stream"
                                 : command == "/spead/sends"    ? "/spead/send,NAME shows one sender"
                                 : command == "/spead/ports"    ? "/spead/port,NAME shows one port"
                                 : command == "/spead/captures" ? "/spead/captures shows all captures"
                                                                : "/spead/lcore,N shows one lcore"));
    if (command == "/spead/streams")
        return names(now.streams, *skip);
    if (command == "/spead/sends")
        return names(now.sends, *skip);
    if (command == "/spead/ports")
        return names(now.ports, *skip);
    if (command == "/spead/captures") {
        Json list = Json::array();
        for (std::size_t i = *skip; i < now.captures.size(); i++)
            list.push_back(capture_json(now.captures[i]));
        return list;
    }
    if (command == "/spead/lcores") {
        Json list = Json::array();
        for (std::size_t i = *skip; i < now.lcores.size(); i++)
            list.push_back(now.lcores[i].lcore);
        return list;
    }
    return error("there is no such command; / lists them");
}

Json TelemetryAnswers::info(const View& view) const {
    Json json = facts_;
    json["sequence"] = view.latest.sequence;
    if (!view)
        return json;
    const Snapshot& now = *view.latest.snapshot;
    json["age_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(view.age).count();
    json["duration_s"] = now.duration_s;
    json["streams"] = now.streams.size();
    json["sends"] = now.sends.size();
    json["ports"] = now.ports.size();
    json["lcores"] = now.lcores.size();
    json["captures"] = now.captures.size();
    return json;
}

/// Returns the latest report's sequence and size, without a parameter. With SEQUENCE,OFFSET, returns its text
/// from there, as much as an answer holds.
Json TelemetryAnswers::report(const View& view, std::string_view parameter) {
    if (parameter.empty()) {
        const std::lock_guard lock(mutex_);
        if (texts_.empty() || texts_.back().sequence != view.latest.sequence)
            texts_.push_back(
                {view.latest.sequence, std::make_shared<const std::string>(
                                           report_document(*view.latest.snapshot)
                                               .dump(-1, ' ', true, Json::error_handler_t::replace))});
        while (texts_.size() > kTexts)
            texts_.pop_front();
        return {{"sequence", view.latest.sequence},
                {"size", texts_.back().text->size()},
                {"age_ms", std::chrono::duration_cast<std::chrono::milliseconds>(view.age).count()}};
    }
    const std::size_t comma = std::min(parameter.find(','), parameter.size());
    const auto sequence = number(parameter.substr(0, comma));
    const auto offset = number(parameter.substr(std::min(comma + 1, parameter.size())));
    if (!sequence || !offset)
        return error(fmt::format("`{}` is not SEQUENCE,OFFSET; /spead/report has the sequence", parameter));
    const std::uint64_t from = offset.value_or(0);
    std::shared_ptr<const std::string> text;
    {
        const std::lock_guard lock(mutex_);
        for (const Text& t : texts_)
            if (t.sequence == *sequence)
                text = t.text;
    }
    if (!text)
        return error(fmt::format("report {} is no longer kept; begin again with /spead/report", *sequence));
    std::size_t length = 0;
    std::size_t escaped = 0;
    while (from + length < text->size() && length < kTelemetryText) {
        const char c = (*text)[from + length];
        escaped += c == '"' || c == '\\' ? 2 : 1;
        if (escaped > kTelemetryBytes)
            break;
        length++;
    }
    return from > text->size() ? std::string() : text->substr(from, length);
}

}  // namespace spead::observe
