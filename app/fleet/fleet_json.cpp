// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_json.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "app/fleet/fleet_plans.hpp"
#include "app/fleet/fleet_sum.hpp"

namespace spead::app {

using observe::Json;

namespace {

Json finding_json(const HostFinding& finding) {
    return {{"where", finding.where}, {"cause", finding.cause}, {"stage", finding.stage},
            {"what", finding.what},   {"cures", finding.cures}, {"first_s", finding.first_s}};
}

Json host_json(const HostLook& host, const HostLook* before, const HostStates::Entry& entry,
               HostStates::Clock::time_point at) {
    Json json = {{"address", host.target.address},
                 {"shard", host.shard},
                 {"state", word_of(entry.state)},
                 {"state_s", std::chrono::duration<double>(at - entry.since).count()},
                 {"failure", host.failure},
                 {"faults", host.faults},
                 {"findings", Json::array()}};
    for (const HostFinding& finding : host.findings)
        json["findings"].push_back(finding_json(finding));
    if (!host.failure.empty())
        return json;
    const auto lost = lost_between(before, host);
    json["plan"] = host.plan;
    json["endpoints"] = host.endpoints;
    json["bytes_per_second"] = host.bytes_per_second;
    json["expected_bytes_per_second"] = host.expected_bytes_per_second;
    json["packets_per_second"] = host.packets_per_second;
    json["heaps_complete"] = host.heaps_complete;
    json["heaps_lost"] = host.heaps_lost;
    json["heaps_lost_now"] = lost ? Json(*lost) : Json();
    json["missing_packets"] = host.missing_packets;
    json["run_s"] = host.run_seconds;
    return json;
}

/// Returns the order of the processes, the worst first: by state, then by its beginning, so that a row keeps
/// its place while nothing changes.
std::vector<std::size_t> worst_first(const std::vector<HostStates::Entry>& states,
                                     const std::vector<HostLook>& now) {
    std::vector<std::size_t> order(now.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        if (states[a].state != states[b].state)
            return states[a].state < states[b].state;
        return states[a].state != HostState::ok && states[a].since < states[b].since;
    });
    return order;
}

}  // namespace

Json fleet_json(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                const std::vector<HostStates::Entry>& states, HostStates::Clock::time_point at) {
    const FleetSum sum = sum_of(now);
    Json json = {{"processes", now.size()},
                 {"answer", sum.answer},
                 {"bytes_per_second", sum.bytes_per_second},
                 {"packets_per_second", sum.packets_per_second},
                 {"faults", plan_faults(now)},
                 {"plans", Json::array()},
                 {"hosts", Json::array()}};
    for (const auto& [name, plan] : plans_of(now))
        json["plans"].push_back(
            {{"name", name}, {"endpoints", plan.endpoints()}, {"endpoints_all", plan.endpoints_all}});
    for (const std::size_t i : worst_first(states, now)) {
        if (json["hosts"].size() == kMostListedHosts)
            break;
        json["hosts"].push_back(host_json(now[i], look_before(before, i), states[i], at));
    }
    return json;
}

}  // namespace spead::app
