// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/engine_state.hpp"
#include "runtime/layout_ports.hpp"

/// Ports that are opened while others run.
namespace spead::runtime {

namespace {

/// A port opens its device, its interface's sockets and its own host's timers.
constexpr std::size_t kDescriptorsOfPort = 16;

std::size_t streams_of(const Worker& worker, const SenderSet& senders) {
    return worker.parts.size() + worker.sources.size() + senders.on(worker).size();
}

bool is_same_device(const port::PlannedPort& a, const port::PlannedPort& b) {
    return a.device.name == b.device.name || (!a.device.netdev.empty() && a.device.netdev == b.device.netdev);
}

}  // namespace

/// Returns the CPUs of the new port's streams; where none is named, that of the lcore with the least to do.
std::vector<unsigned> Engine::State::cpus_of_new_port(const Plan& wanted, const PortPlan& port) const {
    std::vector<unsigned> cpus;
    for (const ReceivePlan& r : wanted.receives)
        if (r.port == port.name)
            for (const unsigned cpu : r.lcores)
                add_once(cpus, lcores.on_cpu(cpu).layout->planned_cpu);
    if (!cpus.empty())
        return cpus;
    const Worker* best = nullptr;
    for (const auto& w : lcores)
        if (best == nullptr || streams_of(*w, senders) < streams_of(*best, senders))
            best = w.get();
    if (best == nullptr)
        throw_error(fmt::format("port {}", port.name),
                    "there is no worker lcore; give the process one more CPU");
    return {best->layout->planned_cpu};
}

void Engine::State::open_new_ports(const Plan& wanted) {
    if (wanted.ports.size() == plan.ports.size())
        return;
    need_descriptors(kDescriptorsOfPort * (wanted.ports.size() - plan.ports.size()));
    std::vector<std::vector<unsigned>> cpus(wanted.ports.size());
    for (std::size_t p = plan.ports.size(); p < wanted.ports.size(); p++)
        cpus[p] = cpus_of_new_port(wanted, wanted.ports[p]);
    const std::vector<port::PlannedPort> planned =
        plan_ports(wanted, plan.ports.size(), cpus, {}, surroundings.drivers, port::this_host());
    for (const port::PlannedPort& p : planned) {
        for (std::size_t other = 0; other < ports.size(); other++)
            if (is_same_device(p, layout.ports[other]))
                throw_error(port::where(p.request), "{} is port {} already", p.request.device,
                            plan.ports[other].name);
        const std::size_t i = plan.ports.size();
        ports.add(wanted.ports[i], p);
        plan.ports.push_back(wanted.ports[i]);
        layout.ports.push_back(p);
        layout.port_cpus.push_back(cpus[i]);
        senders.note_ports();
        std::vector<QueueLayout> fresh;
        for (std::uint16_t q = 0; q < p.request.rx_queues; q++)
            fresh.push_back({i, q, cpus[i][q], {}});
        layout.queues.insert(layout.queues.end(), fresh.begin(), fresh.end());
        queues.make(fresh);
        queues.add_host_rules(i);
    }
}

/// Lcores that nothing was on so far sleep until something is.
void Engine::State::launch_lcores() {
    lcores.launch(
        [this](const Worker& w) { return !surroundings.rest_unused_lcores || streams_of(w, senders) != 0; });
}

}  // namespace spead::runtime
