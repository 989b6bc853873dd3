// SPDX-License-Identifier: BSD-3-Clause
#include "app/top_frame.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "app/table.hpp"
#include "base/outcome.hpp"
#include "base/units.hpp"
#include "stats/rates.hpp"

namespace spead::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKeys = "q quit  1-5 or Tab page  s sort  r reverse  j k scroll  Space now";
/// Of a stream's packets, those that count as lost to it.
constexpr std::array kLosses{PacketOutcome::late,         PacketOutcome::malformed,
                             PacketOutcome::oversize,     PacketOutcome::heap_too_big,
                             PacketOutcome::inconsistent, PacketOutcome::out_of_order,
                             PacketOutcome::no_memory};

const Json& member(const Json& from, std::string_view name) {
    static const Json kNothing;
    if (!from.is_object())
        return kNothing;
    const auto found = from.find(std::string(name));
    return found == from.end() ? kNothing : *found;
}

std::uint64_t count(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

double real(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_number() ? value.get<double>() : 0;
}

std::string text(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t lost_packets(const Json& stream) {
    std::uint64_t lost = 0;
    for (const PacketOutcome o : kLosses)
        lost += count(member(stream, "packets"), name_of(o));
    return lost;
}

std::uint64_t lost_heaps(const Json& stream) {
    const Json& heaps = member(stream, "heaps");
    std::uint64_t lost = count(heaps, "dropped_full") + count(heaps, "unwritten");
    for (const HeapEnd end : {HeapEnd::evicted, HeapEnd::timed_out, HeapEnd::flushed})
        lost += count(heaps, name_of(end));
    return lost;
}

std::uint64_t nic_lost(const Json& port) {
    const Json& nic = member(port, "nic");
    return count(nic, "missed") + count(nic, "no_mbuf") + count(nic, "errors");
}

std::uint64_t refused(const Json& port) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kPortOutcomes; i++)
        if (i != static_cast<std::size_t>(PortOutcome::stream))
            sum += count(member(port, "rx"), kPortOutcomeNames[i]);
    return sum;
}

/// 0 to 1; none where there is no whole.
std::optional<double> share(double part, double whole) {
    return whole > 0 ? std::optional(std::clamp(part / whole, 0.0, 1.0)) : std::nullopt;
}

std::string percent(std::optional<double> part) {
    return part ? fmt::format("{:.0f} %", *part * 100) : "-";
}

/// "[|||       ] 28 %"
std::string bar(std::optional<double> part, std::size_t width) {
    const double share = part.value_or(0);
    // A little is not nothing.
    const auto filled = std::max<long>(std::lround(share * static_cast<double>(width)), share > 0 ? 1 : 0);
    return fmt::format("[{:<{}}]{:>6}", std::string(static_cast<std::size_t>(filled), '|'), width,
                       percent(part));
}

/// Two reports side by side.
class Pair {
  public:
    Pair(const TopSample& before, const TopSample& now)
        : before_(before.report),
          now_(now.report),
          seconds_(before.report.is_null()
                       ? 0
                       : real(now.report, "duration_s") - real(before.report, "duration_s")) {}

    const Json& parts(std::string_view kind) const { return member(now_, kind); }

    /// As it was, for rates; null if it was not.
    const Json& earlier(std::string_view kind, const Json& part, std::string_view key) const {
        static const Json kNothing;
        for (const Json& other : member(before_, kind))
            if (member(other, key) == member(part, key))
                return other;
        return kNothing;
    }

    std::optional<double> rate(const Json& then, std::uint64_t before, std::uint64_t now) const {
        return then.is_null() ? std::nullopt : stats::rate(before, now, seconds_);
    }
    /// Of a count that a function takes from a part.
    template <typename Count>
    std::optional<double> rate(std::string_view kind, const Json& part, const Count& of) const {
        const Json& then = earlier(kind, part, "name");
        return rate(then, of(then), of(part));
    }
    /// Of all parts together, those that are new left out.
    template <typename Count>
    std::optional<double> sum(std::string_view kind, const Count& of) const {
        std::optional<double> all;
        for (const Json& part : parts(kind))
            if (const auto one = rate(kind, part, of))
                all = all.value_or(0) + *one;
        return all;
    }

  private:
    const Json& before_;
    const Json& now_;
    double seconds_;
};

std::string bits(std::optional<double> rate) {
    return rate ? human_bit_rate(*rate) : "-";
}
std::string packets(std::optional<double> rate) {
    return rate ? human_packet_rate(*rate) : "-";
}
std::string events(std::optional<double> rate) {
    if (!rate)
        return "-";
    return *rate < 100 ? fmt::format("{:.1f}", *rate)
                       : human_count(static_cast<std::uint64_t>(std::llround(*rate)));
}

/// What rows are sorted by; the table of a page.
struct Row {
    std::string name;
    double rate = 0;
    double loss = 0;
    double ring = 0;
    std::vector<std::string> cells;  ///< as the page's columns, without the name
};

struct Page {
    std::string name;  ///< of the first column
    std::vector<std::string>
        columns;  ///< most important first: those at the end give way on narrow terminals
    std::vector<Row> rows;
    bool words = false;  ///< the last column is words
};

/// Columns in which no row has anything else than 0 go, but for the first `kept`.
void drop_empty_columns(Page& page, std::size_t kept) {
    for (std::size_t c = page.columns.size(); c-- > kept;) {
        const auto at = static_cast<std::ptrdiff_t>(c);
        if (!std::all_of(page.rows.begin(), page.rows.end(), [c](const Row& r) { return r.cells[c] == "0"; }))
            continue;
        page.columns.erase(page.columns.begin() + at);
        for (Row& row : page.rows)
            row.cells.erase(row.cells.begin() + at);
    }
}

/// Of a stream that is stopped, or waits for its port, that; else as far as it is watched.
std::string condition(const Json& stream) {
    const std::string state = text(stream, "state");
    return state.empty() || state == "received" ? text(member(stream, "health"), "state") : state;
}

Page streams_page(const Pair& pair) {
    Page page{"STREAM",
              {"RATE", "PACKETS", "HEAPS/s", "LOST/s", "HEAPS LOST", "QUEUE", "EXPECTED", "LIVE", "HEALTH"},
              {},
              true};
    for (const Json& s : pair.parts("streams")) {
        const Json& heaps = member(s, "heaps");
        const Json& info = member(s, "info");
        const auto bytes = pair.rate("streams", s, [](const Json& p) { return count(p, "bytes"); });
        const auto received =
            pair.rate("streams", s, [](const Json& p) { return count(member(p, "packets"), "received"); });
        const auto delivered =
            pair.rate("streams", s, [](const Json& p) { return count(member(p, "heaps"), "delivered"); });
        const auto lost = pair.rate("streams", s, lost_heaps);
        const auto ring = share(static_cast<double>(count(heaps, "queued")),
                                static_cast<double>(count(info, "queue_heaps")));
        const double expected = real(info, "expected_rate");
        page.rows.push_back(
            {text(s, "name"),
             bytes.value_or(0),
             static_cast<double>(lost_heaps(s)),
             ring.value_or(0),
             {bits(bytes), packets(received), events(delivered), events(lost), human_count(lost_heaps(s)),
              bar(ring, 5), expected > 0 && bytes ? fmt::format("{:.0f} %", *bytes / expected * 100) : "",
              human_count(count(heaps, "live")), condition(s)}});
    }
    return page;
}

/// One column per way to lose something, in the order of docs/counters.md.
Page loss_page(const Pair& pair) {
    Page page{"STREAM",
              {"RECEIVED", "PACKETS LOST", "EVICTED", "TIMED_OUT", "FLUSHED", "DROPPED", "UNWRITTEN"},
              {},
              false};
    for (const PacketOutcome o : kLosses) {
        std::string name(name_of(o));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
        page.columns.push_back(std::move(name));
    }
    for (const Json& s : pair.parts("streams")) {
        const Json& outcomes = member(s, "packets");
        const Json& heaps = member(s, "heaps");
        Row row{text(s, "name"),
                static_cast<double>(count(outcomes, "received")),
                static_cast<double>(lost_packets(s) + lost_heaps(s)),
                static_cast<double>(count(heaps, "queued")),
                {human_count(count(outcomes, "received")), human_count(lost_packets(s))}};
        for (const std::string_view end : {"evicted", "timed_out", "flushed", "dropped_full", "unwritten"})
            row.cells.push_back(human_count(count(heaps, end)));
        for (const PacketOutcome o : kLosses)
            row.cells.push_back(human_count(count(outcomes, name_of(o))));
        page.rows.push_back(std::move(row));
    }
    drop_empty_columns(page, 2);
    return page;
}

Page sends_page(const Pair& pair) {
    Page page{"SENDER",
              {"RATE", "PACKETS", "HEAPS/s", "HEAPS", "ABORTED", "ZERO COPY", "STALLS", "FULL", "HEALTH"},
              {},
              true};
    for (const Json& s : pair.parts("sends")) {
        const auto bytes = pair.rate("sends", s, [](const Json& p) { return count(p, "bytes"); });
        page.rows.push_back(
            {text(s, "name"),
             bytes.value_or(0),
             static_cast<double>(count(s, "aborted")),
             0,
             {bits(bytes), packets(pair.rate("sends", s, [](const Json& p) { return count(p, "packets"); })),
              events(pair.rate("sends", s, [](const Json& p) { return count(p, "heaps"); })),
              human_count(count(s, "heaps")), human_count(count(s, "aborted")),
              percent(share(static_cast<double>(count(s, "zero_copy_packets")),
                            static_cast<double>(count(s, "packets")))),
              human_count(count(member(s, "info"), "stalls")),
              human_count(count(member(s, "info"), "tx_full")), text(member(s, "health"), "state")}});
    }
    return page;
}

Page ports_page(const Pair& pair) {
    Page page{"PORT",
              {"STATE", "RX RATE", "RX PACKETS", "TX RATE", "TX PACKETS", "NIC LOST/s", "NIC LOST", "REFUSED",
               "DRIVER"},
              {},
              true};
    for (const Json& p : pair.parts("ports")) {
        const auto of = [&](const char* way, const char* what) {
            return pair.rate("ports", p, [way, what](const Json& q) { return count(member(q, way), what); });
        };
        page.rows.push_back(
            {text(p, "name"),
             of("rx", "bytes").value_or(0) + of("tx", "bytes").value_or(0),
             static_cast<double>(nic_lost(p)),
             0,
             {text(p, "state"), bits(of("rx", "bytes")), packets(of("rx", "packets")),
              bits(of("tx", "bytes")), packets(of("tx", "packets")), events(pair.rate("ports", p, nic_lost)),
              human_count(nic_lost(p)), human_count(refused(p)), text(p, "driver")}});
    }
    // As long as all is well there are more interesting things to show.
    if (std::all_of(page.rows.begin(), page.rows.end(),
                    [](const Row& r) { return r.cells[0].empty() || r.cells[0] == "running"; })) {
        page.columns.erase(page.columns.begin());
        for (Row& row : page.rows)
            row.cells.erase(row.cells.begin());
    }
    return page;
}

/// Busy time over all time between two reports, in lcores' own words.
std::optional<double> load_of(const Json& then, const Json& now) {
    const double busy = real(now, "busy_s") - real(then, "busy_s");
    const double idle = real(now, "idle_s") - real(then, "idle_s");
    return then.is_null() || busy < 0 || idle < 0 ? std::nullopt : share(busy, busy + idle);
}

std::string lcore_duties(const Json& lcore) {
    std::string duties;
    for (const Json& stream : member(lcore, "streams"))
        duties += (duties.empty() ? "" : " ") + text(stream, "name");
    for (const Json& send : member(lcore, "sends"))
        if (send.is_string())
            duties += (duties.empty() ? "" : " ") + send.get<std::string>();
    return duties;
}

Page lcores_page(const Pair& pair) {
    Page page{"LCORE", {"LOAD", "PACKETS", "CPU", "POLL", "DUTIES"}, {}, true};
    for (const Json& l : pair.parts("lcores")) {
        const Json& then = pair.earlier("lcores", l, "lcore");
        const auto received = [](const Json& lcore) {
            std::uint64_t sum = 0;
            for (const Json& stream : member(lcore, "streams"))
                sum += count(stream, "received");
            return sum;
        };
        const auto load = load_of(then, l);
        const auto rate = pair.rate(then, received(then), received(l));
        page.rows.push_back({fmt::format("{:>2}", count(l, "lcore")),
                             load.value_or(rate.value_or(0)),
                             0,
                             0,
                             {bar(load, 20), packets(rate), fmt::format("{}", count(l, "cpu")),
                              text(l, "poll"), lcore_duties(l)}});
    }
    return page;
}

Page page_of(const Pair& pair, TopPage page) {
    switch (page) {
        case TopPage::loss:
            return loss_page(pair);
        case TopPage::sends:
            return sends_page(pair);
        case TopPage::ports:
            return ports_page(pair);
        case TopPage::lcores:
            return lcores_page(pair);
        case TopPage::streams:
            break;
    }
    return streams_page(pair);
}

void sort(std::vector<Row>& rows, const TopView& view) {
    const auto key = [&](const Row& r) {
        return view.sort == TopSort::rate ? r.rate : view.sort == TopSort::loss ? r.loss : r.ring;
    };
    // Equal rows stay in the report's order, so that the picture does not flicker.
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        const Row& first = view.reversed ? b : a;
        const Row& second = view.reversed ? a : b;
        return view.sort == TopSort::name ? first.name < second.name : key(first) > key(second);
    });
}

/// A sentence in lines of so many columns at most, cut at blanks, all but the first set in.
std::vector<std::string> wrapped(std::string_view sentence, std::size_t columns) {
    constexpr std::string_view kIndent = "  ";
    std::vector<std::string> lines;
    while (!sentence.empty()) {
        const std::string_view indent = lines.empty() ? std::string_view() : kIndent;
        const std::size_t room = std::max(columns, indent.size() + 8) - indent.size();
        std::size_t length = sentence.size();
        if (length > room) {
            const std::size_t blank = sentence.rfind(' ', room);
            length = blank == std::string_view::npos || blank == 0 ? room : blank;
        }
        lines.push_back(std::string(indent) + std::string(sentence.substr(0, length)));
        sentence.remove_prefix(length);
        sentence.remove_prefix(std::min(sentence.find_first_not_of(' '), sentence.size()));
    }
    return lines;
}

/// Text without what would move a terminal's cursor, as long as it may be.
std::string fit(std::string_view line, std::size_t columns) {
    std::string out;
    for (const char c : line.substr(0, columns))
        out += c >= 0x20 && c <= 0x7E ? c : '?';
    while (out.ends_with(' '))
        out.pop_back();
    return out;
}

/// The rows as text, each column as wide as its widest cell; the first is words, the others are numbers.
std::vector<std::string> table(const Page& page, std::size_t columns) {
    std::size_t name_width = page.name.size();
    for (const Row& row : page.rows)
        name_width = std::max(name_width, row.name.size());
    name_width = std::min(name_width, std::max<std::size_t>(columns / 3, 8));
    std::vector<std::size_t> widths;
    std::size_t used = name_width;
    for (std::size_t c = 0; c < page.columns.size(); c++) {
        std::size_t width = page.columns[c].size();
        for (const Row& row : page.rows)
            width = std::max(width, row.cells[c].size());
        const bool words = page.words && c + 1 == page.columns.size();
        if (used + 2 + (words ? page.columns[c].size() : width) > columns)
            break;
        used += 2 + width;
        widths.push_back(width);
    }
    const auto line = [&](const std::string& name, const std::vector<std::string>& cells) {
        std::string out = fmt::format("{:<{}.{}}", name, name_width, name_width);
        for (std::size_t c = 0; c < widths.size(); c++) {
            const bool words = page.words && c + 1 == page.columns.size();
            out += words ? fmt::format("  {}", cells[c]) : fmt::format("  {:>{}}", cells[c], widths[c]);
        }
        return out;
    };
    std::vector<std::string> lines{line(page.name, page.columns)};
    for (const Row& row : page.rows)
        lines.push_back(line(row.name, row.cells));
    return lines;
}

/// What is going on as a whole.
std::vector<std::string> summary(const Pair& pair, const TopSample& now, const TopView& view) {
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
    const Json& streams = pair.parts("streams");
    if (!streams.empty())
        lines.push_back(fmt::format(
            "rx  {:>10}  {:>10}  {} stream{}, {} heaps and {} packets lost",
            bits(pair.sum("streams", [](const Json& s) { return count(s, "bytes"); })),
            packets(
                pair.sum("streams", [](const Json& s) { return count(member(s, "packets"), "received"); })),
            streams.size(), streams.size() == 1 ? "" : "s", human_count(total(streams, lost_heaps)),
            human_count(total(streams, lost_packets))));
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
    std::string loads = "cpu";
    for (const Json& l : pair.parts("lcores"))
        loads += fmt::format("  {} {}", count(l, "lcore"),
                             bar(load_of(pair.earlier("lcores", l, "lcore"), l), 10));
    lines.push_back(std::move(loads));
    return lines;
}

}  // namespace

TopFrame top_frame(const TopSample& before, const TopSample& now, const TopView& view, const TopSize& size) {
    TopFrame frame;
    if (now.report.is_null()) {
        frame.lines = {fmt::format("{} (pid {}): its run has not begun yet", now.name, now.pid)};
    } else {
        const Pair pair(before, now);
        Page page = page_of(pair, view.page);
        sort(page.rows, view);
        frame.lines = summary(pair, now, view);
        frame.lines.emplace_back();
        frame.heading = frame.lines.size();
        const std::vector<std::string> rows = table(page, size.columns);
        frame.lines.push_back(rows.front());
        std::vector<std::string> findings;
        if (view.page == TopPage::loss)
            for (const Json& finding : member(now.report, "findings"))
                for (std::string& line : wrapped(text(finding, "sentence"), size.columns))
                    findings.push_back(std::move(line));
        std::size_t taken = frame.lines.size() + (view.keys ? 1 : 0);
        // Half of the room at most is for why; many streams can be scrolled.
        if (size.rows > taken)
            taken += std::min(findings.size(), (size.rows - taken) / 2);
        const std::size_t room = size.rows == 0 ? rows.size() : size.rows > taken ? size.rows - taken : 0;
        frame.most_scroll = rows.size() - 1 > room ? rows.size() - 1 - room : 0;
        for (std::size_t i = std::min(view.scroll, frame.most_scroll) + 1; i < rows.size(); i++)
            if (frame.lines.size() - frame.heading - 1 < room || size.rows == 0)
                frame.lines.push_back(rows[i]);
        frame.lines.insert(frame.lines.end(), findings.begin(), findings.end());
        if (page.rows.empty())
            frame.lines.push_back(fmt::format("no {} here", kTopPages[static_cast<std::size_t>(view.page)]));
    }
    if (size.rows != 0) {
        frame.lines.resize(std::min(frame.lines.size(), size.rows));
        if (view.keys && size.rows > frame.heading + 1) {
            frame.lines.resize(size.rows);
            frame.lines.back() = kKeys;
        }
    }
    for (std::string& line : frame.lines)
        line = fit(line, size.columns);
    return frame;
}

}  // namespace spead::app
