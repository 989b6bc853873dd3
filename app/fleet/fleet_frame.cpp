// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_frame.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/top/top_report.hpp"
#include "app/top/top_table.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

constexpr std::string_view kFleetKeys = "q quit  s sort  r reverse  j/k scroll  space refresh  h hide this";
/// Limits the shards that a sentence lists.
constexpr std::size_t kMostListed = 8;

/// Returns the number of a shard in a way that sorts as numbers do.
std::string sortable(const std::string& shard) {
    return fmt::format("{:>9}", shard);
}

Row row_of(const HostLook& host, const HostLook* before) {
    Row row;
    row.name = host.target.address;
    const std::string shard = host.shard.empty() ? "?" : host.shard;
    if (!host.failure.empty()) {
        row.cells = {shard, "no answer", "-", "-", "-", "-", host.failure};
        return row;
    }
    const auto lost = before == nullptr ? std::nullopt : lost_between(*before, host);
    row.rate = host.bytes_per_second;
    row.loss = static_cast<double>(lost.value_or(0));
    row.queue = static_cast<double>(host.faults.size());
    row.cells = {shard,
                 host.faults.empty() ? "ok" : "FAULT",
                 human_bit_rate(host.bytes_per_second),
                 human_packet_rate(host.packets_per_second),
                 fmt::format("{}", host.endpoints),
                 lost ? human_count(*lost) : "-",
                 fmt::format("{}", fmt::join(host.faults, "; "))};
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

std::string listed(const std::vector<std::string>& all) {
    const std::size_t shown = std::min(all.size(), kMostListed);
    const std::vector<std::string> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown));
    return fmt::format("{}{}", fmt::join(first, ", "),
                       shown < all.size() ? fmt::format(" and {} more", all.size() - shown) : "");
}

/// Gathers the shards of one plan.
struct PlanLook {
    std::map<std::string, std::uint64_t> shards{};  ///< with their endpoints
    std::uint64_t endpoints_all = 0;

    std::uint64_t endpoints() const {
        return std::accumulate(shards.begin(), shards.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const auto& shard) { return sum + shard.second; });
    }
};

std::map<std::string, PlanLook> plans_of(const std::vector<HostLook>& now) {
    std::map<std::string, PlanLook> plans;
    for (const HostLook& host : now) {
        if (!host.failure.empty())
            continue;
        PlanLook& plan = plans[host.plan];
        // A replica of a shard receives the same endpoints, or has not read a new plan yet.
        std::uint64_t& endpoints = plan.shards[host.shard];
        endpoints = std::max(endpoints, host.endpoints);
        plan.endpoints_all = std::max(plan.endpoints_all, host.endpoints_all);
    }
    return plans;
}

/// Adds what is missing of a plan. Shards of different counts are of different versions of the plan.
void add_missing(std::vector<std::string>& faults, const std::string& name, const PlanLook& plan) {
    std::set<std::string> counts;
    std::vector<std::string> names;
    for (const auto& [shard, endpoints] : plan.shards) {
        names.push_back(shard);
        counts.insert(shard.substr(shard.find('/') + 1));
    }
    if (counts.size() > 1) {
        faults.push_back(fmt::format("plan {}: hosts count its shards differently: {}", name, listed(names)));
        return;
    }
    std::vector<std::string> absent;
    const std::string& of = *counts.begin();
    for (std::uint32_t i = 0; of.size() < 6 && i < std::min(std::stoul("0" + of), 4096UL); i++)
        if (const std::string shard = fmt::format("{}/{}", i, of); !plan.shards.contains(shard))
            absent.push_back(shard);
    if (!absent.empty())
        faults.push_back(fmt::format("plan {}: no host has shard {}", name, listed(absent)));
    if (plan.endpoints() < plan.endpoints_all)
        faults.push_back(fmt::format("plan {}: {} of its {} endpoints are received nowhere", name,
                                     plan.endpoints_all - plan.endpoints(), plan.endpoints_all));
}

std::vector<std::string> summary(const std::vector<HostLook>& now, std::size_t columns) {
    const auto up = std::ranges::count_if(now, [](const HostLook& h) { return h.failure.empty(); });
    const auto total = [&](double HostLook::*part) {
        return std::accumulate(now.begin(), now.end(), 0.0,
                               [&](double sum, const HostLook& h) { return sum + h.*part; });
    };
    std::vector<std::string> lines{fmt::format("{} of {} processes answer; {}, {}", up, now.size(),
                                               human_bit_rate(total(&HostLook::bytes_per_second)),
                                               human_packet_rate(total(&HostLook::packets_per_second)))};
    for (const auto& [name, plan] : plans_of(now))
        lines.push_back(fmt::format("plan {}: {} of {} endpoints are received", name, plan.endpoints(),
                                    plan.endpoints_all));
    for (const std::string& fault : fleet_faults(now))
        for (std::string& line : wrapped(fault, columns))
            lines.push_back(std::move(line));
    return lines;
}

}  // namespace

std::vector<std::string> fleet_faults(const std::vector<HostLook>& now) {
    std::vector<std::string> faults;
    std::vector<std::string> silent;
    for (const HostLook& host : now)
        if (!host.failure.empty())
            silent.push_back(host.target.address);
    if (!silent.empty())
        faults.push_back("no answer: " + listed(silent));
    for (const auto& [name, plan] : plans_of(now))
        add_missing(faults, name, plan);
    return faults;
}

TopFrame fleet_frame(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                     const TopView& view, const TopSize& size) {
    Page page{
        "PROCESS",
        {{"SHARD"}, {"STATE", true}, {"PAYLOAD"}, {"PACKETS"}, {"ENDPOINTS"}, {"HEAPS LOST"}, {"WHY", true}},
        {}};
    for (std::size_t i = 0; i < now.size(); i++)
        page.rows.push_back(row_of(now[i], i < before.size() ? &before[i] : nullptr));
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
