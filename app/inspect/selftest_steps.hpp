// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/inspect/findings.hpp"
#include "base/endpoint.hpp"
#include "port/port.hpp"

/// The steps of `selftest`, each on a port that is started, each leaving it as it was. Control world, no
/// lcore polls meanwhile. A step never throws: what goes wrong is a finding.
namespace spead::app {

/// Every shape of rule that the program uses, one after the other, and many at once.
Findings try_rules(port::Port& port);

/// Regions of every alignment, registered, mapped for the device, and given back.
Findings try_memory(const port::Port& port);

/// An empty poll of every receive queue; its event armed and disarmed where it has one.
Findings try_queues(const port::Port& port);

/// Packets of 1 to as many segments as the port takes, all but the headers in registered memory that nobody
/// copies; then the way back where what is sent comes back. Stops the port, which ends what the driver still
/// holds.
Findings try_sending(port::Port& port, const Endpoint& destination);

}  // namespace spead::app
