// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_frame.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/top/top_report.hpp"
#include "app/top/top_summary.hpp"
#include "app/top/top_table.hpp"
#include "base/counted.hpp"
#include "base/outcome.hpp"
#include "base/units.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

constexpr std::string_view kKeys = "q quit  1-5 or Tab page  s sort  r reverse  j k scroll  Space now";

/// Removes columns with nothing but 0, except the first `kept`.
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

std::string health_cell(const Json& part) {
    const std::string state = condition(part);
    return state.empty() ? "-" : state;
}

constexpr std::array<const char*, 7> kChunkColumns{"CHUNKS/s", "PRESENT",  "LOWEST", "LATE",
                                                   "FUTURE",   "NO_CHUNK", "FREE"};
/// Holds how many of them come before the losses where all streams have chunks.
constexpr std::size_t kFirstOfChunks = 3;

std::uint64_t number_at(const Json& list, std::size_t i) {
    return i < list.size() && list[i].is_number_unsigned() ? list[i].get<std::uint64_t>() : 0;
}

/// Returns the place with the lowest present part since the report before, as "pol 1: 93 %"; empty: nothing
/// is missing.
std::string lowest_place(const Pair& pair, const Json& stream) {
    double lowest = 1;
    std::string found;
    const Json& before = member(pair.earlier("streams", stream, "name"), "axes");
    for (const Json& axis : member(stream, "axes")) {
        const Json& expected = member(axis, "expected");
        const Json& present = member(axis, "present");
        const auto same = std::find_if(before.begin(), before.end(), [&axis](const Json& b) {
            return text(b, "name") == text(axis, "name") && count(b, "places") == count(axis, "places");
        });
        for (std::size_t i = 0; i < expected.size(); i++) {
            std::uint64_t all = number_at(expected, i);
            std::uint64_t here = number_at(present, i);
            if (same != before.end()) {
                const std::uint64_t all_then = number_at(member(*same, "expected"), i);
                const std::uint64_t here_then = number_at(member(*same, "present"), i);
                if (all_then < all && here_then <= here) {
                    all -= all_then;
                    here -= here_then;
                }
            }
            const double part = share(static_cast<double>(here), static_cast<double>(all)).value_or(1);
            if (part >= lowest)
                continue;
            lowest = part;
            const std::uint64_t each = std::max<std::uint64_t>(count(axis, "places_each"), 1);
            const std::uint64_t places = std::max<std::uint64_t>(count(axis, "places"), 1);
            const std::uint64_t last = std::min((i + 1) * each, places) - 1;
            found = fmt::format("{} {}{}: {}", text(axis, "name"), i * each,
                                last == i * each ? "" : fmt::format("-{}", last), percent(part));
        }
    }
    return found;
}

/// Adds what is shown of the chunks of a stream.
void add_chunk_cells(Row& row, const Pair& pair, const Json& stream) {
    const Json& chunks = member(stream, "chunks");
    if (chunks.is_null()) {
        row.cells.resize(row.cells.size() + kChunkColumns.size());
        return;
    }
    const auto taken =
        pair.rate("streams", stream, [](const Json& s) { return count(member(s, "chunks"), "taken"); });
    // Those taken since the report before, if there are some.
    const Json& before = member(pair.earlier("streams", stream, "name"), "chunks");
    const auto since = [&](std::string_view name) {
        const std::uint64_t then = count(before, name);
        const std::uint64_t now = count(chunks, name);
        return static_cast<double>(then < now ? now - then : now);
    };
    row.cells.push_back(events(taken));
    row.cells.push_back(percent(share(since("heaps_present"), since("heaps_expected"))));
    row.cells.push_back(lowest_place(pair, stream));
    for (const PacketOutcome o : {PacketOutcome::late, PacketOutcome::future, PacketOutcome::no_chunk})
        row.cells.push_back(human_count(count(member(stream, "packets"), name_of(o))));
    row.cells.push_back(fmt::format("{}/{}", count(chunks, "free"), count(chunks, "buffers")));
}

/// Puts the columns of chunks before those that matter less for them, and leaves out empty ones of heaps.
void put_chunks_first(Page& page) {
    const std::size_t chunks = page.columns.size() - kChunkColumns.size();
    std::vector<std::size_t> order{0, 1, 2};
    for (std::size_t i = 0; i < kFirstOfChunks; i++)
        order.push_back(chunks + i);
    for (std::size_t i = 4; i < 7; i++)
        order.push_back(i);
    for (std::size_t i = kFirstOfChunks; i < kChunkColumns.size(); i++)
        order.push_back(chunks + i);
    for (const std::size_t i : {7, 3, 8})
        if (!std::all_of(page.rows.begin(), page.rows.end(), [i](const Row& r) {
                return r.cells[i].empty() || r.cells[i] == "0" || r.cells[i] == "0.0" || r.cells[i] == "-";
            }))
            order.push_back(i);
    const auto ordered = [&order](const auto& from) {
        std::remove_cvref_t<decltype(from)> to;
        for (const std::size_t i : order)
            to.push_back(from[i]);
        return to;
    };
    page.columns = ordered(page.columns);
    for (Row& row : page.rows)
        row.cells = ordered(row.cells);
}

Page streams_page(const Pair& pair) {
    Page page{"STREAM",
              {{"HEALTH", true},
               {"RATE"},
               {"PACKETS"},
               {"HEAPS/s"},
               {"LOST/s"},
               {"HEAPS LOST"},
               {"QUEUE"},
               {"EXPECTED"},
               {"LIVE"}},
              {}};
    const Json& streams = pair.parts("streams");
    const bool any_chunks = std::any_of(streams.begin(), streams.end(),
                                        [](const Json& s) { return !member(s, "chunks").is_null(); });
    if (any_chunks)
        for (const char* name : kChunkColumns)
            page.columns.push_back({name});
    for (const Json& s : pair.parts("streams")) {
        const Json& heaps = member(s, "heaps");
        const Json& info = member(s, "info");
        const auto bytes = pair.rate("streams", s, [](const Json& p) { return count(p, "bytes"); });
        const auto received =
            pair.rate("streams", s, [](const Json& p) { return count(member(p, "packets"), "received"); });
        const auto delivered =
            pair.rate("streams", s, [](const Json& p) { return count(member(p, "heaps"), "delivered"); });
        const auto lost = pair.rate("streams", s, lost_heaps);
        const Json& chunks = member(s, "chunks");
        const auto queue = chunks.is_null()
                               ? share(static_cast<double>(count(heaps, "queued")),
                                       static_cast<double>(count(info, "queue_heaps")))
                               : share(static_cast<double>(count(chunks, "waiting") + count(chunks, "held")),
                                       static_cast<double>(count(chunks, "buffers")));
        const double expected = real(info, "expected_rate");
        page.rows.push_back({text(s, "name"),
                             bytes.value_or(0),
                             static_cast<double>(lost_heaps(s)),
                             queue.value_or(0),
                             {health_cell(s), bits(bytes), packets(received), events(delivered), events(lost),
                              human_count(lost_heaps(s)), bar(queue, 5),
                              expected > 0 && bytes ? fmt::format("{:.0f} %", *bytes / expected * 100) : "",
                              human_count(count(heaps, "live"))}});
        if (any_chunks)
            add_chunk_cells(page.rows.back(), pair, s);
    }
    if (any_chunks && std::none_of(streams.begin(), streams.end(),
                                   [](const Json& s) { return member(s, "chunks").is_null(); }))
        put_chunks_first(page);
    return page;
}

/// Returns one column per kind of loss, in the order of docs/counters.md.
Page loss_page(const Pair& pair) {
    Page page{"STREAM",
              {{"HEALTH", true},
               {"RECEIVED"},
               {"PACKETS LOST"},
               {"MISSING"},
               {"MISSING BYTES"},
               {"EVICTED"},
               {"TIMED_OUT"},
               {"FLUSHED"},
               {"DROPPED"},
               {"UNWRITTEN"},
               {"DEVICE"}},
              {}};
    for (const PacketOutcome o : kLosses) {
        std::string name(name_of(o));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
        page.columns.push_back({std::move(name)});
    }
    for (const Json& s : pair.parts("streams")) {
        const Json& outcomes = member(s, "packets");
        const Json& heaps = member(s, "heaps");
        const Json& info = member(s, "info");
        const std::uint64_t missing = count(info, "missing_packets");
        const std::uint64_t missing_bytes = count(info, "missing_bytes");
        Row row{
            text(s, "name"),
            static_cast<double>(count(outcomes, "received")),
            static_cast<double>(lost_packets(s) + lost_heaps(s)),
            static_cast<double>(count(heaps, "queued")),
            {health_cell(s), human_count(count(outcomes, "received")), human_count(lost_packets(s)),
             missing == 0 ? "0"
                          : observe::missing_text(human_count(missing), missing, count(outcomes, "placed")),
             missing_bytes == 0
                 ? "0"
                 : observe::missing_text(human_size(missing_bytes), missing_bytes, count(s, "bytes"))}};
        for (const std::string_view end :
             {"evicted", "timed_out", "flushed", "dropped_full", "unwritten", "device_error"})
            row.cells.push_back(human_count(count(heaps, end)));
        for (const PacketOutcome o : kLosses)
            row.cells.push_back(human_count(count(outcomes, name_of(o))));
        page.rows.push_back(std::move(row));
    }
    drop_empty_columns(page, 3);
    return page;
}

Page sends_page(const Pair& pair) {
    Page page{"SENDER",
              {{"HEALTH", true},
               {"RATE"},
               {"PACKETS"},
               {"HEAPS/s"},
               {"HEAPS"},
               {"ABORTED"},
               {"ZERO COPY"},
               {"STALLS"},
               {"FULL"}},
              {}};
    for (const Json& s : pair.parts("sends")) {
        const auto bytes = pair.rate("sends", s, [](const Json& p) { return count(p, "bytes"); });
        page.rows.push_back(
            {text(s, "name"),
             bytes.value_or(0),
             static_cast<double>(count(s, "aborted")),
             0,
             {health_cell(s), bits(bytes),
              packets(pair.rate("sends", s, [](const Json& p) { return count(p, "packets"); })),
              events(pair.rate("sends", s, [](const Json& p) { return count(p, "heaps"); })),
              human_count(count(s, "heaps")), human_count(count(s, "aborted")),
              percent(share(static_cast<double>(count(s, "zero_copy_packets")),
                            static_cast<double>(count(s, "packets")))),
              human_count(count(member(s, "info"), "stalls")),
              human_count(count(member(s, "info"), "tx_full"))}});
    }
    return page;
}

Page ports_page(const Pair& pair) {
    Page page{"PORT",
              {{"STATE", true},
               {"RX RATE"},
               {"RX PACKETS"},
               {"TX RATE"},
               {"TX PACKETS"},
               {"NIC LOST/s"},
               {"NIC LOST"},
               {"REFUSED"},
               {"DRIVER", true}},
              {}};
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
    Page page{"LCORE", {{"CPU"}, {"LOAD"}, {"PACKETS"}, {"POLL", true}, {"DUTIES", true}}, {}};
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
                             {fmt::format("{}", count(l, "cpu")), bar(load, 20), packets(rate),
                              text(l, "state") == "silent" ? "SILENT" : text(l, "poll"), lcore_duties(l)}});
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
        return view.sort == TopSort::rate ? r.rate : view.sort == TopSort::loss ? r.loss : r.queue;
    };
    // Equal rows stay in the report's order, so that the picture does not flicker.
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        const Row& first = view.reversed ? b : a;
        const Row& second = view.reversed ? a : b;
        return view.sort == TopSort::name ? first.name < second.name : key(first) > key(second);
    });
}

/// Returns sentences in lines, as many as there is room for; the last line counts the rest.
std::vector<std::string> findings_lines(const Json& report, std::size_t columns) {
    std::vector<std::string> lines;
    for (const Json& finding : member(report, "findings"))
        for (std::string& line : wrapped(text(finding, "sentence"), columns))
            lines.push_back(std::move(line));
    return lines;
}

/// Returns a note on the hidden rows of the table.
std::string hidden_text(const TopTable& table, std::size_t first, std::size_t shown) {
    std::vector<std::string> parts;
    if (const std::size_t rows = table.lines.size() - 1; shown < rows)
        parts.push_back(shown == 0 ? fmt::format("none of {}", counted(rows, "rows"))
                                   : fmt::format("rows {} to {} of {}", first, first + shown - 1, rows));
    if (!table.hidden.empty())
        parts.push_back(fmt::format("too narrow for {}", fmt::join(table.hidden, ", ")));
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// Adds the table of a page; the page of losses has their causes below it.
void add_table(TopFrame& frame, const Page& page, const Json& report, const TopView& view,
               const TopSize& size) {
    frame.lines.emplace_back();
    frame.heading = frame.lines.size();
    const TopTable table = top_table(page, size.columns);
    frame.lines.push_back(table.lines.front());
    std::vector<std::string> why;
    if (view.page == TopPage::loss)
        why = findings_lines(report, size.columns);
    const std::size_t all = table.lines.size() - 1;
    const std::size_t taken = frame.lines.size() + (view.keys ? 1 : 0);
    const std::size_t left = size.rows > taken ? size.rows - taken : 0;
    // Half of the room at most is for why; many streams can be scrolled.
    const std::size_t room = size.rows == 0 ? all : left - std::min(why.size(), left / 2);
    const std::size_t shown = std::min(all, room);
    frame.most_scroll = all - shown;
    const std::size_t first = std::min(view.scroll, frame.most_scroll) + 1;
    frame.lines.insert(frame.lines.end(), table.lines.begin() + static_cast<std::ptrdiff_t>(first),
                       table.lines.begin() + static_cast<std::ptrdiff_t>(first + shown));
    frame.lines[frame.heading - 1] = hidden_text(table, first, shown);
    if (all == 0)
        frame.lines.push_back(fmt::format("no {} here", kTopPages[static_cast<std::size_t>(view.page)]));
    if (const std::size_t lines = size.rows == 0 ? why.size() : left - std::min(left, shown);
        lines != 0 && lines < why.size()) {
        const std::size_t more = why.size() - lines + 1;
        why.resize(lines - 1);
        why.push_back(fmt::format("... {} more", counted(more, "lines")));
    }
    frame.lines.insert(frame.lines.end(), why.begin(), why.end());
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
        frame.lines = top_summary(pair, now, view, size);
        add_table(frame, page, now.report, view, size);
    }
    if (size.rows != 0) {
        const bool keys = view.keys && size.rows > frame.heading + 1;
        const std::size_t most = size.rows - (keys ? 1 : 0);
        if (frame.lines.size() > most) {
            frame.lines.resize(most);
            frame.lines.back() = "... make the terminal taller";
        }
        if (keys) {
            frame.lines.resize(size.rows);
            frame.lines.back() = kKeys;
        }
    }
    for (std::string& line : frame.lines)
        line = fit(line, size.columns);
    return frame;
}

}  // namespace spead::app
