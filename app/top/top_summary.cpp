// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_summary.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "stats/finding.hpp"

namespace spead::app {

namespace {

/// Limits the lines about CPUs on a terminal.
constexpr std::size_t kCpuLines = 2;

/// Returns the load of the lcores' CPUs.
std::vector<std::string> loads(const Pair& pair, const TopSize& size) {
    std::vector<std::string> lines{"cpu"};
    std::size_t left = pair.parts("lcores").size();
    for (const Json& l : pair.parts("lcores")) {
        const std::string one = fmt::format(" {:>2} {}", count(l, "cpu"),
                                            bar(load_of(pair.earlier("lcores", l, "lcore"), l), 10));
        const std::string more = left > 1 ? fmt::format(", {} more on page 5", left - 1) : "";
        const bool last = size.rows != 0 && lines.size() == kCpuLines;
        if (lines.back().size() + one.size() + (last ? more.size() : 0) > size.columns) {
            if (last) {
                lines.back() += fmt::format(", {} more on page 5", left);
                return lines;
            }
            lines.emplace_back("   ");
        }
        lines.back() += one;
        left--;
    }
    return lines;
}

}  // namespace

std::string health_of(const Json& report, std::size_t columns) {
    std::vector<std::string> ill;
    for (const char* const kind : {"streams", "sends", "ports"})
        for (const Json& part : member(report, kind)) {
            // A stopped or finished part is no fault.
            if (const std::string state = condition(part);
                !state.empty() && state != "ok" && state != "stopped" && state != "done")
                ill.push_back(fmt::format("{} {}", text(part, "name"), state));
            if (!text(member(part, "sink"), "failure").empty())
                ill.push_back(fmt::format("{} does not write", text(part, "name")));
        }
    for (const Json& lcore : member(report, "lcores"))
        if (const std::string state = text(lcore, "state"); !state.empty() && state != "running")
            ill.push_back(fmt::format("lcore {} {}", count(lcore, "lcore"), state));
    for (const Json& engine : member(report, "engines"))
        if (text(engine, "state") == "stalled")
            ill.push_back(fmt::format("engine {} stands still", text(engine, "name")));
    const Json& all = member(report, "findings");
    const double time = real(report, "cleared_s") + real(report, "duration_s");
    const auto findings = std::count_if(all.begin(), all.end(), [time](const Json& f) {
        const double last = real(f, "last_s");
        return member(f, "until_s").is_null() && (last == 0 || time - last <= stats::kLately);
    });
    std::string end;
    if (findings != 0)
        end = fmt::format("{} finding{} (page 2)", findings, findings == 1 ? "" : "s");
    if (ill.empty())
        return findings == 0 ? "ok" : end;
    if (!end.empty())
        end = "; " + end;
    std::string line;
    for (std::size_t i = 0; i < ill.size(); i++) {
        const std::size_t after = ill.size() - i - 1;
        const std::string more = after == 0 ? "" : fmt::format(", {} more", after);
        if (i != 0 && line.size() + 2 + ill[i].size() + more.size() + end.size() > columns)
            return fmt::format("{}, {} more{}", line, after + 1, end);
        if (i != 0)
            line += ", ";
        line += ill[i];
    }
    return line + end;
}

std::vector<std::string> top_summary(const Pair& pair, const TopSample& now, const TopView& view,
                                     const TopSize& size) {
    const auto total = [](const Json& parts, const auto& of) {
        std::uint64_t sum = 0;
        for (const Json& part : parts)
            sum += of(part);
        return sum;
    };
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("{} (pid {})  up {}{}  page {}, by {}{}", now.name, now.pid,
                    human_duration(real(now.report, "cleared_s") + real(now.report, "duration_s")),
                    now.age_s > 2 ? fmt::format(", NUMBERS ARE {} OLD", human_duration(now.age_s)) : "",
                    kTopPages[static_cast<std::size_t>(view.page)],
                    kTopSorts[static_cast<std::size_t>(view.sort)], view.reversed ? ", reversed" : ""));
    lines.push_back("health " + health_of(now.report, size.columns - std::min<std::size_t>(size.columns, 7)));
    const Json& streams = pair.parts("streams");
    if (!streams.empty())
        lines.push_back(fmt::format(
            "rx  {:>10}  {:>10}  {}, {} {} and {} {} lost",
            bits(pair.sum("streams", [](const Json& s) { return count(s, "bytes"); })),
            packets(
                pair.sum("streams", [](const Json& s) { return count(member(s, "packets"), "received"); })),
            counted(streams.size(), "streams"), human_count(total(streams, lost_heaps)),
            noun_for(total(streams, lost_heaps), "heaps"), human_count(total(streams, lost_packets)),
            noun_for(total(streams, lost_packets), "packets")));
    const Json& sends = pair.parts("sends");
    if (!sends.empty())
        lines.push_back(
            fmt::format("tx  {:>10}  {:>10}  {} sender{}",
                        bits(pair.sum("sends", [](const Json& s) { return count(s, "bytes"); })),
                        packets(pair.sum("sends", [](const Json& s) { return count(s, "packets"); })),
                        sends.size(), sends.size() == 1 ? "" : "s"));
    const Json& ports = pair.parts("ports");
    lines.push_back(fmt::format("nic {} port{}, {} lost before they could be fetched, {} refused",
                                ports.size(), ports.size() == 1 ? "" : "s",
                                human_count(total(ports, nic_lost)), human_count(total(ports, refused))));
    const Json& captures = pair.parts("captures");
    if (!captures.empty()) {
        const auto of = [&](std::string_view what) {
            return human_count(total(
                captures, [what](const Json& capture) { return count(member(capture, "packets"), what); }));
        };
        lines.push_back(fmt::format(
            "cap {} running, {} ended; {} packets written, {} buffered, {} dropped, {} unwritten",
            std::count_if(captures.begin(), captures.end(),
                          [](const Json& capture) { return text(capture, "state") == "running"; }),
            std::count_if(captures.begin(), captures.end(),
                          [](const Json& capture) { return text(capture, "state") != "running"; }),
            of("written"), of("buffered"), of("dropped_full"), of("unwritten")));
    }
    for (std::string& line : loads(pair, size))
        lines.push_back(std::move(line));
    return lines;
}

}  // namespace spead::app
