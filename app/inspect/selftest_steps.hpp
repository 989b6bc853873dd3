// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/inspect/findings.hpp"
#include "base/endpoint.hpp"
#include "port/port.hpp"

/// Makes the steps of `selftest`, each on a started port, each leaving it as it was. Control code, no lcore
/// polls meanwhile. A step never throws: an error is a finding.
namespace spead::app {

/// Tries every shape of rule that the program uses, one after the other, and many at once.
Findings try_rules(port::Port& port);

/// Registers regions of every alignment, maps them for the device, and releases them.
Findings try_memory(const port::Port& port);

/// Polls every empty receive queue once; arms and disarms its event if it has one.
Findings try_queues(const port::Port& port);

/// Sends packets of 1 to as many segments as the port takes, all but the headers in registered memory that is
/// not copied. Then receives them if the port returns its own packets. Stops the port, which releases the
/// mbufs that the driver still holds.
Findings try_sending(port::Port& port, const Endpoint& destination);

}  // namespace spead::app
