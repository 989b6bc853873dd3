// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/numa.hpp"

#include <charconv>
#include <set>

#include <fmt/core.h>

#include "port/pci_device.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

int node_of_cpu(const port::Sysfs& files, unsigned cpu) {
    for (const std::string& name : files.list(fmt::format("/sys/devices/system/cpu/cpu{}", cpu))) {
        int node = -1;
        if (name.starts_with("node") &&
            std::from_chars(name.data() + 4, name.data() + name.size(), node).ec == std::errc{})
            return node;
    }
    return -1;
}

int node_of_port(const port::Machine& machine, const port::PlannedPort& port) {
    if (port.device.pci) {
        const auto card = port::pci_device(machine.files, port.device.name);
        return card ? card->numa_node : -1;
    }
    const auto facts = port.device.netdev.empty() ? std::nullopt : machine.netdev(port.device.netdev);
    if (!facts || !machine.sees(*facts))
        return -1;
    return static_cast<int>(
        machine.files.number(fmt::format("/sys/class/net/{}/device/numa_node", facts->name)).value_or(-1));
}

int eal_node(const port::Machine& machine, const port::PlannedPort& port, unsigned main_cpu) {
    return port.device.pci ? node_of_port(machine, port) : node_of_cpu(machine.files, main_cpu);
}

std::vector<FarWorker> far_workers(const port::Machine& machine, const Layout& layout, const Plan& plan) {
    std::vector<FarWorker> far;
    for (const WorkerLayout& worker : layout.workers) {
        std::set<std::string> ports;
        for (const std::size_t i : worker.receives)
            for_each_path(plan.receives[i],
                          [&](std::size_t, const std::string& port, const auto&) { ports.insert(port); });
        for (const std::size_t i : worker.sends)
            ports.insert(plan.sends[i].port);
        const int cpu_node = node_of_cpu(machine.files, worker.cpu);
        for (const std::string& name : ports)
            if (const int node = node_of_port(machine, layout.port(name));
                node >= 0 && cpu_node >= 0 && node != cpu_node)
                far.push_back({worker.cpu, cpu_node, name, node});
    }
    return far;
}

}  // namespace spead::runtime
