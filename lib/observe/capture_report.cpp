// SPDX-License-Identifier: BSD-3-Clause
#include "observe/capture_report.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "observe/table.hpp"

namespace spead::observe {

std::string_view state_of(const stats::CaptureSnapshot& c) {
    return c.finished ? "ended" : c.ending ? "ending" : c.over ? "over" : "running";
}

nlohmann::ordered_json capture_json(const stats::CaptureSnapshot& c) {
    nlohmann::ordered_json capture;
    capture["stream"] = c.stream;
    capture["state"] = state_of(c);
    capture["failure"] = c.failure;
    capture["former"] = c.former;
    capture["only"] = c.only;
    auto& packets = capture["packets"];
    packets["taken"] = c.taken;
    packets["written"] = c.written;
    packets["unwritten"] = c.unwritten;
    packets["buffered"] = c.buffered();
    packets["dropped_full"] = c.dropped_full;
    capture["bytes"] = c.taken_bytes;
    capture["files"] = nlohmann::ordered_json::array();
    for (const auto& file : c.files)
        capture["files"].push_back(
            {{"path", file.path}, {"files", file.files}, {"packets", file.packets}, {"bytes", file.bytes}});
    capture["info"]["cut"] = c.cut;
    capture["info"]["after_end"] = c.ended;
    capture["info"]["seconds"] = c.seconds;
    return capture;
}

nlohmann::ordered_json impaired_json(const std::string& how, const stats::SendCounters& c) {
    return {{"how", how},
            {"lost", c.impaired_lost},
            {"duplicated", c.impaired_duplicated},
            {"corrupted", c.impaired_corrupted},
            {"reordered", c.impaired_reordered},
            {"delayed", c.impaired_delayed},
            {"sent", c.impaired_sent},
            {"dropped", c.impaired_dropped}};
}

void add_impaired(Table& table, const std::string& how, const stats::SendCounters& c) {
    if (how.empty())
        return;
    table.word("impaired on purpose", how);
    table.count("(lost)", c.impaired_lost);
    table.count_if_any("(duplicated)", c.impaired_duplicated);
    table.count_if_any("(corrupted)", c.impaired_corrupted);
    table.count_if_any("(reordered)", c.impaired_reordered);
    table.count_if_any("(delayed)", c.impaired_delayed);
    table.count_if_any("(dropped)", c.impaired_dropped);
}

nlohmann::ordered_json replay_json(const stats::ReplaySnapshot& r) {
    nlohmann::ordered_json replay = {{"files", r.files},
                                     {"resident", r.resident},
                                     {"pass",
                                      {{"records", r.records},
                                       {"frames", r.frames},
                                       {"cut", r.cut},
                                       {"runts", r.runts},
                                       {"too_long", r.too_long},
                                       {"not_udp", r.not_udp}}},
                                     {"packets", r.packets},
                                     {"bytes", r.bytes},
                                     {"passes", r.passes},
                                     {"zero_copy_packets", r.zero_copy},
                                     {"late", r.late},
                                     {"info",
                                      {{"most_late_ns", r.most_late_ns},
                                       {"tx_full", r.tx_full},
                                       {"stalls", r.stalls},
                                       {"starved", r.starved}}}};
    if (!r.impair.empty())
        replay["impaired"] = impaired_json(r.impair, r.impaired);
    return replay;
}

std::string replays_table(const stats::Snapshot& snapshot) {
    Table table;
    const double seconds = snapshot.duration_s;
    for (const stats::ReplaySnapshot& r : snapshot.replays) {
        table.row("replay of", r.files.empty() ? "" : r.files.front());
        table.count_if_any("more files", r.files.size() > 1 ? r.files.size() - 1 : 0);
        table.count("records", r.records);
        table.count_if_any("cut", r.cut);
        table.count_if_any("runts", r.runts);
        table.count_if_any("too_long", r.too_long);
        table.count_if_any("not_udp", r.not_udp);
        table.count("passes", r.passes);
        table.count("packets", r.packets);
        table.number("sent", human_size(r.bytes));
        table.number("rate", seconds > 0 ? human_bit_rate(static_cast<double>(r.bytes) / seconds) : "-");
        table.number("packet rate",
                     seconds > 0 ? human_packet_rate(static_cast<double>(r.packets) / seconds) : "-");
        table.count_if_any("zero copy", r.zero_copy);
        table.count_if_any("late", r.late);
        table.count_if_any("(starved)", r.starved);
        add_impaired(table, r.impair, r.impaired);
    }
    return table.empty() ? std::string{} : table.text() + "\n";
}

std::string captures_table(const stats::Snapshot& snapshot) {
    Table captures;
    Table files;
    for (const stats::CaptureSnapshot& c : snapshot.captures) {
        captures.row("capture of", c.former ? c.stream + " (removed)" : c.stream);
        captures.word("state", std::string(state_of(c)));
        captures.number("for", human_duration(c.seconds));
        captures.number("kept", human_size(c.taken_bytes));
        captures.number("rate",
                        c.seconds > 0 ? human_bit_rate(static_cast<double>(c.taken_bytes) / c.seconds) : "-");
        captures.count("taken", c.taken);
        captures.count("written", c.written);
        captures.count_if_any("unwritten", c.unwritten);
        captures.count_if_any("buffered", c.buffered());
        captures.count_if_any("dropped_full", c.dropped_full);
        captures.count_if_any("(cut)", c.cut);
        captures.count_if_any("(after its end)", c.ended);
        for (const auto& file : c.files) {
            files.row("file", file.path);
            files.count("files", file.files);
            files.count("packets", file.packets);
            files.number("size", human_size(file.bytes));
        }
    }
    return captures.empty() ? std::string{} : captures.text() + "\n" + files.text() + "\n";
}

std::vector<std::string> capture_advice(const stats::Snapshot& snapshot) {
    std::vector<std::string> advice;
    for (const stats::CaptureSnapshot& c : snapshot.captures) {
        if (c.dropped_full > 0)
            advice.push_back(fmt::format(
                "{}: {} found no room in the capture's buffer because the disks were slow; raise "
                "--buffer, add a --file on another disk, keep less of each (--snaplen), or try --direct-io",
                c.stream, counted(c.dropped_full, "packets")));
        if (c.unwritten > 0 && !c.failure.empty())
            advice.push_back(fmt::format("{}: {} that were taken are not in the files: {}", c.stream,
                                         counted(c.unwritten, "packets"), c.failure));
    }
    return advice;
}

}  // namespace spead::observe
