// SPDX-License-Identifier: BSD-3-Clause
#include "app/shards/shard_shares.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "base/units.hpp"
#include "config/shards.hpp"
#include "runtime/paths.hpp"

namespace spead::app {

namespace {

PortShare& share_on(std::vector<PortShare>& ports, const runtime::Plan& plan, const std::string& name,
                    double link_rate) {
    const auto found = std::ranges::find(ports, name, &PortShare::port);
    if (found != ports.end())
        return *found;
    PortShare& fresh = ports.emplace_back();
    fresh.port = name;
    const auto port = std::ranges::find(plan.ports, name, &runtime::PortPlan::name);
    fresh.link_rate = link_rate > 0 ? link_rate : port == plan.ports.end() ? 0 : port->link_rate;
    return fresh;
}

ShardShares shares_of_shard(const runtime::Plan& mine, double link_rate) {
    ShardShares shares;
    for (const runtime::ReceivePlan& r : mine.receives) {
        shares.endpoints += r.endpoints.size();
        shares.streams.push_back({r.name, runtime::ports_text(r), r.endpoint_texts});
        runtime::for_each_path(r, [&](std::size_t, const std::string& port, const auto& endpoints) {
            PortShare& on = share_on(shares.ports, mine, port, link_rate);
            on.endpoints += endpoints.size();
            on.expected_rate += r.expected_rate;
            on.unrated += r.expected_rate > 0 ? 0 : 1;
        });
    }
    return shares;
}

}  // namespace

double ShardShares::expected_rate() const noexcept {
    return std::accumulate(ports.begin(), ports.end(), 0.0,
                           [](double sum, const PortShare& p) { return sum + p.expected_rate; });
}

std::size_t ShardShares::unrated() const noexcept {
    return std::accumulate(ports.begin(), ports.end(), std::size_t{0},
                           [](std::size_t sum, const PortShare& p) { return sum + p.unrated; });
}

PlanShares shares_of(const runtime::Plan& plan, std::uint32_t count, double link_rate,
                     const std::string& path) {
    PlanShares shares;
    shares.plan = plan.runtime.name;
    shares.streams = plan.receives.size();
    for (const runtime::ReceivePlan& r : plan.receives)
        shares.endpoints += r.endpoints.size();
    const auto locate = [&path](std::string_view) { return path; };
    for (std::uint32_t i = 0; i < count; i++)
        shares.shards.push_back(shares_of_shard(config::plan_of_shard(plan, {i, count}, locate), link_rate));
    return shares;
}

std::string why_too_much(const PlanShares& shares) {
    const PortShare* worst = nullptr;
    std::size_t shard = 0;
    for (std::size_t i = 0; i < shares.shards.size(); i++)
        for (const PortShare& port : shares.shards[i].ports)
            if (port.of_link() > kMostOfLink && (worst == nullptr || port.of_link() > worst->of_link())) {
                worst = &port;
                shard = i;
            }
    if (worst == nullptr)
        return {};
    return fmt::format(
        "shard {}/{} expects {} on port {}, {:.0f} % of the link's {}, and at most {:.0f} % is safe; give "
        "more "
        "shards or faster links, or deal streams with `shard = \"stream\"` or `assign` otherwise",
        shard, shares.shards.size(), human_bit_rate(worst->expected_rate), worst->port,
        100 * worst->of_link(), human_bit_rate(worst->link_rate), 100 * kMostOfLink);
}

}  // namespace spead::app
