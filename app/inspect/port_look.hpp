// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/inspect/port_facts.hpp"
#include "port/driver.hpp"
#include "port/netdev.hpp"
#include "port/port.hpp"

namespace spead::app {

/// Adds the facts of an open port and its device. `driver`: the port's.
void fill(PortFacts& facts, const port::Port& port, const port::Driver& driver);

/// Describes the link of a kernel interface, also for a port that is not started.
std::string netdev_link(const port::NetdevFacts& netdev);

}  // namespace spead::app
