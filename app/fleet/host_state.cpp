// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_state.hpp"

#include <fmt/core.h>

namespace spead::app {

std::string_view word_of(HostState state) {
    switch (state) {
        case HostState::silent:
            return "no answer";
        case HostState::fault:
            return "fault";
        case HostState::problem:
            return "problem";
        case HostState::losing:
            return "losing";
        case HostState::ok:
            break;
    }
    return "ok";
}

HostState state_of(const HostLook& host, const HostLook* before) {
    if (!host.failure.empty())
        return HostState::silent;
    if (!host.faults.empty())
        return HostState::fault;
    if (!host.findings.empty())
        return HostState::problem;
    const auto lost = lost_between(before, host);
    return lost.value_or(0) > 0 ? HostState::losing : HostState::ok;
}

std::vector<std::string> reasons_of(const HostLook& host) {
    if (!host.failure.empty())
        return {host.failure};
    std::vector<std::string> reasons = host.faults;
    for (const HostFinding& finding : host.findings)
        reasons.push_back(fmt::format("{}: {}", finding.where, finding.what));
    return reasons;
}

std::vector<HostStates::Entry> HostStates::take(const std::vector<HostLook>& before,
                                                const std::vector<HostLook>& now, Clock::time_point at) {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < now.size(); i++) {
        const HostState state = state_of(now[i], look_before(before, i));
        const auto [found, is_new] = kept_.try_emplace(now[i].target.address, Kept{{state, at}, at});
        Kept& kept = found->second;
        const bool recovers = kept.entry.state < state && at - kept.worse_at < kShortest;
        if (!is_new && kept.entry.state != state && !recovers)
            kept.entry = {state, at};
        if (kept.entry.state == state)
            kept.worse_at = at;
        entries.push_back(kept.entry);
    }
    return entries;
}

}  // namespace spead::app
