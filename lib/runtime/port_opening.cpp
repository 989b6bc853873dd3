// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/port_opening.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/layout_ports.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Counts the descriptors of a port: its device, its interface's sockets and its own host's timers.
constexpr std::size_t kDescriptorsOfPort = 16;

bool is_same_device(const port::PlannedPort& a, const port::PlannedPort& b) {
    return a.device.name == b.device.name || (!a.device.netdev.empty() && a.device.netdev == b.device.netdev);
}

bool receives_on(const Plan& plan, const PortPlan& port) {
    return std::any_of(plan.receives.begin(), plan.receives.end(),
                       [&port](const ReceivePlan& r) { return runtime::receives_on(r, port.name); });
}

}  // namespace

/// Returns the CPUs of the port's streams; where none is named, that of the least loaded lcore.
std::vector<unsigned> PortOpening::cpus_of(const Plan& wanted, const PortPlan& port) const {
    std::vector<unsigned> cpus;
    for (const ReceivePlan& r : wanted.receives)
        if (receives_on(r, port.name))
            for (const unsigned cpu : r.lcores)
                add_once(cpus, of_.lcores.on_cpu(cpu).layout->planned_cpu);
    if (!cpus.empty())
        return cpus;
    const auto load = [this](const Worker& w) {
        return w.lanes.size() + w.sources.size() + of_.senders.on(w).size();
    };
    const Worker* best = nullptr;
    for (const auto& w : of_.lcores)
        if (best == nullptr || load(*w) < load(*best))
            best = w.get();
    if (best == nullptr)
        throw_error(fmt::format("port {}", port.name),
                    "the process has no worker lcore; give it one more CPU");
    return {best->layout->planned_cpu};
}

void PortOpening::open_new(const Plan& wanted) {
    const std::size_t first = of_.plan.ports.size();
    if (wanted.ports.size() == first)
        return;
    need_descriptors(kDescriptorsOfPort * (wanted.ports.size() - first));
    std::vector<std::vector<unsigned>> cpus(wanted.ports.size());
    for (std::size_t p = first; p < wanted.ports.size(); p++)
        cpus[p] = cpus_of(wanted, wanted.ports[p]);
    const port::Machine& machine = port::this_machine();
    std::vector<std::string> in_use;
    for (const port::PlannedPort& open : of_.layout.ports)
        in_use.push_back(open.device.name);
    std::vector<port::PlannedPort> planned = plan_ports(wanted, first, cpus, {}, drivers_, machine, in_use);
    // A peer may refuse a port with more queues than it has itself: none is made for later streams.
    bool fewer = false;
    for (std::size_t p = first; p < wanted.ports.size(); p++)
        if (planned[p - first].device.capabilities.needs_peer && !receives_on(wanted, wanted.ports[p])) {
            cpus[p].clear();
            fewer = true;
        }
    if (fewer)
        planned = plan_ports(wanted, first, cpus, {}, drivers_, machine, in_use);
    for (std::size_t p = first; p < wanted.ports.size(); p++) {
        port::PlannedPort& fresh = planned[p - first];
        for (std::size_t other = 0; other < of_.ports.size(); other++)
            if (is_same_device(fresh, of_.layout.ports[other]))
                throw_error(port::where(fresh.request), "{} is port {} already", fresh.request.device,
                            of_.plan.ports[other].name);
        of_.engines.give_memory(wanted, fresh);
        add(wanted.ports[p], fresh, cpus[p]);
    }
}

void PortOpening::add(const PortPlan& plan, const port::PlannedPort& planned,
                      const std::vector<unsigned>& cpus) {
    const std::size_t i = of_.ports.size();
    of_.ports.add(plan, planned);
    of_.plan.ports.push_back(plan);
    of_.layout.ports.push_back(planned);
    of_.layout.port_cpus.push_back(cpus);
    of_.senders.note_ports();
    std::vector<QueueLayout> fresh;
    for (std::uint16_t q = 0; q < planned.request.rx_queues; q++)
        fresh.push_back({i, q, cpus[q], {}});
    of_.layout.queues.insert(of_.layout.queues.end(), fresh.begin(), fresh.end());
    of_.queues.make(fresh);
    of_.queues.add_host_rules(i);
}

}  // namespace spead::runtime
