// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "port/machine.hpp"
#include "runtime/layout.hpp"

/// Which memory a CPU and a card are close to. Control world; what /sys does not tell is -1.
namespace spead::runtime {

int node_of_cpu(const port::Sysfs& files, unsigned cpu);

/// Of the card behind a port; -1 for ports without a card.
int node_of_port(const port::Machine& machine, const port::PlannedPort& port);

/// Where EAL's memory for a port must be: on its card's node, else on that of the CPU that opens it; -1: any.
int eal_node(const port::Machine& machine, const port::PlannedPort& port, unsigned main_cpu);

/// A worker whose CPU is far from one of its ports: every packet crosses the link between the sockets.
struct FarWorker {
    unsigned cpu = 0;
    int cpu_node = -1;
    std::string port;
    int port_node = -1;
};
std::vector<FarWorker> far_workers(const port::Machine& machine, const Layout& layout, const Plan& plan);

}  // namespace spead::runtime
