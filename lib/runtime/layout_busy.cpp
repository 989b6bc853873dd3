// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_busy.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace spead::runtime {

std::vector<std::string> busy_warnings(const Plan& plan, const Layout& layout) {
    std::vector<std::string> warnings;
    const std::vector<unsigned> control = layout.control_cpus();
    for (const WorkerLayout& w : layout.workers) {
        const auto busy = std::find_if(w.receives.begin(), w.receives.end(), [&plan](std::size_t i) {
            return plan.receives[i].poll == PollMode::busy;
        });
        if (busy == w.receives.end())
            continue;
        std::string others;
        const auto add = [&others](bool there, const std::string& what) {
            if (there)
                others += (others.empty() ? "" : ", ") + what;
        };
        add(w.cpu == layout.main_cpu, "the main lcore");
        add(control.size() == 1 && control.front() == w.cpu, "sinks, reports and the prompt");
        for (const WorkerLayout& other : layout.workers)
            add(&other != &w && other.cpu == w.cpu, fmt::format("lcore {}", other.lcore));
        if (!others.empty())
            warnings.push_back(
                fmt::format("receive {}: its lcore polls without a pause on CPU {}, which other threads need "
                            "({}); give them another CPU, or set `poll` (--poll) to \"adaptive\"",
                            plan.receives[*busy].name, w.cpu, others));
    }
    return warnings;
}

}  // namespace spead::runtime
