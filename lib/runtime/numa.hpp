// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "port/machine.hpp"
#include "runtime/layout.hpp"

/// Finds the NUMA nodes of CPUs and cards. Control code; -1 where /sys does not say.
namespace spead::runtime {

int node_of_cpu(const port::Sysfs& files, unsigned cpu);

/// Returns the node of the card behind a port; -1 for ports without a card.
int node_of_port(const port::Machine& machine, const port::PlannedPort& port);

/// Returns the node for EAL's memory of a port: its card's, else that of the CPU that opens it; -1: any.
int eal_node(const port::Machine& machine, const port::PlannedPort& port, unsigned main_cpu);

/// Names a worker whose CPU is far from one of its ports: every packet crosses the link between the sockets.
struct FarWorker {
    unsigned cpu = 0;
    int cpu_node = -1;
    std::string port;
    int port_node = -1;
};
std::vector<FarWorker> far_workers(const port::Machine& machine, const Layout& layout, const Plan& plan);

}  // namespace spead::runtime
