// SPDX-License-Identifier: BSD-3-Clause
#include "observe/chunk_report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace spead::observe {

using stats::AxisPresence;

namespace {

std::string present_text(std::uint64_t present, std::uint64_t expected) {
    if (expected == 0)
        return "-";
    const double share = static_cast<double>(present) / static_cast<double>(expected);
    // One missing heap of very many is not none.
    if (present != expected && share > 0.9999)
        return "< 100 %";
    return fmt::format("{:.4g} %", share * 100);
}

std::string entry_text(const AxisPresence& axis, std::size_t entry) {
    return present_text(axis.present(entry), axis.expected(entry));
}

std::string range_text(std::uint64_t first, std::uint64_t past) {
    return first + 1 == past ? fmt::format("{}", first) : fmt::format("{}-{}", first, past - 1);
}

/// Returns entries of an axis with the lowest present parts, in the order of the places.
std::vector<std::size_t> lowest_entries(const AxisPresence& axis, std::size_t most) {
    std::vector<std::size_t> all(axis.entries.size());
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(),
                     [&axis](std::size_t a, std::size_t b) { return axis.share(a) < axis.share(b); });
    all.resize(std::min(all.size(), most));
    std::sort(all.begin(), all.end());
    return all;
}

/// Returns "0: 100 %, 1: 93.1 %".
std::string places_text(const AxisPresence& axis) {
    constexpr std::size_t kMostParts = 8;
    constexpr std::size_t kLowest = 4;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < axis.entries.size(); i++) {
        const std::uint64_t first = axis.first(i);
        const std::string share = entry_text(axis, i);
        while (i + 1 < axis.entries.size() && entry_text(axis, i + 1) == share)
            i++;
        parts.push_back(fmt::format("{}: {}", range_text(first, axis.past(i)), share));
    }
    if (parts.size() <= kMostParts)
        return fmt::format("{}", fmt::join(parts, ", "));
    parts.clear();
    const std::vector<std::size_t> lowest = lowest_entries(axis, kLowest);
    for (const std::size_t i : lowest)
        parts.push_back(fmt::format("{}: {}", range_text(axis.first(i), axis.past(i)), entry_text(axis, i)));
    std::uint64_t present = 0;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < axis.entries.size(); i++)
        if (!std::binary_search(lowest.begin(), lowest.end(), i)) {
            present += axis.present(i);
            expected += axis.expected(i);
        }
    return fmt::format("{}; the others: {}", fmt::join(parts, ", "), present_text(present, expected));
}

}  // namespace

Json chunks_json(const stats::ChunkCounts& chunks) {
    Json json;
    for (const stats::ChunkCount& c : stats::kChunkCounts)
        json[std::string(c.name)] = chunks.*c.count;
    for (const stats::ChunkCount& c : stats::kChunkStates)
        json[std::string(c.name)] = chunks.*c.count;
    json["carried"] = {{"open", chunks.carried_open}, {"waiting", chunks.carried_waiting}};
    json["consumer_load"] = chunks.consumer_load() > 0 ? Json(chunks.consumer_load()) : Json();
    return json;
}

std::string_view chunk_way(const stats::StreamSnapshot& s) noexcept {
    if (s.lcores_direct != 0)
        return s.lcores_tracked != 0 ? "mixed" : "direct";
    return s.lcores_tracked != 0 ? "tracked" : "undecided";
}

Json axes_json(const std::vector<AxisPresence>& axes) {
    constexpr std::uint64_t kMostParts = 64;
    constexpr std::size_t kLowest = 8;
    Json all = Json::array();
    for (const AxisPresence& axis : axes) {
        Json json;
        json["name"] = axis.name;
        json["places"] = axis.places;
        // Always the same for an axis, so that reports can be compared.
        const std::uint64_t entries = (axis.entries.size() + kMostParts - 1) / kMostParts;
        json["places_each"] = entries * axis.width;
        json["expected"] = Json::array();
        json["present"] = Json::array();
        for (std::size_t i = 0; i < axis.entries.size(); i += entries) {
            std::uint64_t present = 0;
            std::uint64_t expected = 0;
            for (std::size_t k = i; k < std::min<std::size_t>(i + entries, axis.entries.size()); k++) {
                present += axis.present(k);
                expected += axis.expected(k);
            }
            json["expected"].push_back(expected);
            json["present"].push_back(present);
        }
        json["lowest"] = Json::array();
        for (const std::size_t i : lowest_entries(axis, kLowest))
            json["lowest"].push_back({{"place", range_text(axis.first(i), axis.past(i))},
                                      {"expected", axis.expected(i)},
                                      {"present", axis.present(i)},
                                      {"nothing_in_chunks", axis.entries[i].nothing}});
        all.push_back(std::move(json));
    }
    return all;
}

void add_axes_rows(Table& table, const stats::StreamSnapshot& s) {
    for (const AxisPresence& axis : s.axes) {
        if (axis.chunks == 0)
            continue;
        table.row("presence", s.name);
        table.word("axis", axis.name);
        table.word("heaps present by place", places_text(axis));
    }
}

void add_chunks_row(Table& table, const stats::StreamSnapshot& s, std::optional<double> rate) {
    const stats::ChunkCounts& c = s.chunks;
    table.row("chunks", s.name);
    table.number("rate", rate ? fmt::format("{:.3g}/s", *rate) : "-");
    table.word("way", std::string(chunk_way(s)));
    table.count("taken", c.taken);
    table.count("complete", c.complete);
    table.number("heaps present", present_text(c.heaps_present, c.heaps_expected));
    table.count_if_any("heaps missing", c.heaps_missing);
    table.count_if_any("(heaps cut)", c.heaps_cut);
    table.count_if_any("unwritten", c.unwritten);
    table.count_if_any("device_error", c.device_error);
    table.count_if_any("timed_out", c.timed_out);
    table.count_if_any("short_of", c.short_of);
    table.count_if_any("skipped", c.skipped);
    table.count_if_any("resyncs", c.resyncs);
    table.count_if_any("out_waited", c.out_waited);
    table.count_if_any("(doubled)", c.doubled);
    if (c.callback_heaps != 0)
        table.number_if_any("cycles/heap in callback",
                            fmt::format("{}", c.callback_cycles / c.callback_heaps));
    table.count_if_any("callback nonsense", c.callback_nonsense);
    table.count_if_any("open", c.open);
    table.count_if_any("waiting", c.waiting);
    table.count_if_any("held", c.held);
    table.count_if_any("free", c.free);
    table.word_if_any("counted with", s.chunks_counted_with);
    table.count_if_any("(verified)", s.heaps_verified);
    table.count_if_any("(wrong)", s.heaps_wrong);
}

}  // namespace spead::observe
