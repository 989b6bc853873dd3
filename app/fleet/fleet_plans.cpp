// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_plans.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"

namespace spead::app {

namespace {

/// Limits the shards that a sentence lists.
constexpr std::size_t kMostListed = 8;

std::string listed(const std::vector<std::string>& all) {
    const std::size_t shown = std::min(all.size(), kMostListed);
    const std::vector<std::string> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown));
    return fmt::format("{}{}", fmt::join(first, ", "),
                       shown < all.size() ? fmt::format(" and {} more", all.size() - shown) : "");
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
        faults.push_back(fmt::format("plan {}: {} of its {} {} received nowhere", name,
                                     plan.endpoints_all - plan.endpoints(),
                                     counted(plan.endpoints_all, "endpoints"),
                                     word_for(plan.endpoints_all - plan.endpoints(), "is", "are")));
}

}  // namespace

std::uint64_t PlanLook::endpoints() const {
    return std::accumulate(shards.begin(), shards.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& shard) { return sum + shard.second; });
}

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

std::vector<std::string> plan_faults(const std::vector<HostLook>& now) {
    std::vector<std::string> faults;
    for (const auto& [name, plan] : plans_of(now))
        add_missing(faults, name, plan);
    return faults;
}

std::vector<std::string> fleet_faults(const std::vector<HostLook>& now) {
    std::vector<std::string> faults;
    std::vector<std::string> silent;
    for (const HostLook& host : now)
        if (!host.failure.empty())
            silent.push_back(host.target.address);
    if (!silent.empty())
        faults.push_back("no answer: " + listed(silent));
    for (std::string& fault : plan_faults(now))
        faults.push_back(std::move(fault));
    return faults;
}

}  // namespace spead::app
