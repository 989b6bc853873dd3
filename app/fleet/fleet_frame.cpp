// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_frame.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/fleet/fleet_plans.hpp"
#include "app/fleet/fleet_sum.hpp"
#include "app/fleet/host_state.hpp"
#include "app/top/top_report.hpp"
#include "app/top/top_table.hpp"
#include "base/counted.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

constexpr std::string_view kFleetKeys = "q quit  s sort  r reverse  j/k scroll  space refresh  h hide this";

/// Returns the number of a shard in a way that sorts as numbers do.
std::string sortable(const std::string& shard) {
    return fmt::format("{:>9}", shard);
}

Row row_of(const HostLook& host, const HostLook* before) {
    Row row;
    row.name = host.target.address;
    const std::string shard = host.shard.empty() ? "?" : host.shard;
    if (!host.failure.empty()) {
        row.cells = {shard, std::string(word_of(HostState::silent)), "-", "-", "-", "-", host.failure};
        return row;
    }
    const auto lost = lost_between(before, host);
    row.rate = host.bytes_per_second;
    row.loss = static_cast<double>(lost.value_or(0));
    row.queue = static_cast<double>(host.faults.size() + host.findings.size());
    row.cells = {shard,
                 std::string(word_of(state_of(host, before))),
                 human_bit_rate(host.bytes_per_second),
                 human_packet_rate(host.packets_per_second),
                 fmt::format("{}", host.endpoints),
                 lost ? human_count(*lost) : "-",
                 fmt::format("{}", fmt::join(reasons_of(host), "; "))};
    return row;
}

void sort(std::vector<Row>& rows, const TopView& view) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        const Row& first = view.reversed ? b : a;
        const Row& second = view.reversed ? a : b;
        switch (view.sort) {
            case TopSort::rate:
                return first.rate > second.rate;
            case TopSort::loss:
                return first.loss > second.loss;
            case TopSort::queue:
                return first.queue > second.queue;
            case TopSort::name:
                break;
        }
        return std::pair(sortable(first.cells.front()), first.name) <
               std::pair(sortable(second.cells.front()), second.name);
    });
}

std::vector<std::string> summary(const std::vector<HostLook>& now, std::size_t columns) {
    const FleetSum sum = sum_of(now);
    std::vector<std::string> lines{fmt::format("{} of {} {}; {}, {}", sum.answer, now.size(),
                                               word_for(now.size(), "process answers", "processes answer"),
                                               human_bit_rate(sum.bytes_per_second),
                                               human_packet_rate(sum.packets_per_second))};
    for (const auto& [name, plan] : plans_of(now))
        lines.push_back(fmt::format("plan {}: {} of {} {} received", name, plan.endpoints(),
                                    counted(plan.endpoints_all, "endpoints"),
                                    word_for(plan.endpoints(), "is", "are")));
    for (const std::string& fault : fleet_faults(now))
        for (std::string& line : wrapped(fault, columns))
            lines.push_back(std::move(line));
    return lines;
}

}  // namespace

TopFrame fleet_frame(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                     const TopView& view, const TopSize& size) {
    Page page{
        "PROCESS",
        {{"SHARD"}, {"STATE", true}, {"PAYLOAD"}, {"PACKETS"}, {"ENDPOINTS"}, {"HEAPS LOST"}, {"WHY", true}},
        {}};
    for (std::size_t i = 0; i < now.size(); i++)
        page.rows.push_back(row_of(now[i], look_before(before, i)));
    sort(page.rows, view);
    const TopTable table = top_table(page, size.columns);

    TopFrame frame;
    frame.lines = summary(now, size.columns);
    // A small terminal has room for the table still.
    if (size.rows != 0 && frame.lines.size() > size.rows / 2)
        frame.lines.resize(std::max<std::size_t>(size.rows / 2, 1));
    frame.lines.emplace_back();
    frame.heading = frame.lines.size();
    frame.lines.push_back(table.lines.front());
    const bool keys = view.keys && size.rows > frame.heading + 2;
    const std::size_t all = table.lines.size() - 1;
    const std::size_t taken = frame.lines.size() + (keys ? 1 : 0);
    const std::size_t room = size.rows == 0 ? all : size.rows > taken ? size.rows - taken : 0;
    const std::size_t shown = std::min(all, room);
    frame.most_scroll = all - shown;
    const std::size_t first = std::min(view.scroll, frame.most_scroll);
    for (std::size_t i = 0; i < shown; i++)
        frame.lines.push_back(table.lines[1 + first + i]);
    if (shown < all)
        frame.lines[frame.heading - 1] = fmt::format("rows {} to {} of {}", first + 1, first + shown, all);
    if (size.rows != 0)
        frame.lines.resize(std::min(frame.lines.size(), size.rows));
    if (keys) {
        frame.lines.resize(size.rows);
        frame.lines.back() = kFleetKeys;
    }
    for (std::string& line : frame.lines)
        line = fit(line, size.columns);
    return frame;
}

}  // namespace spead::app
