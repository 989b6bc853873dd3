// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/inspect/findings.hpp"
#include "base/endpoint.hpp"
#include "gpu/driver.hpp"
#include "port/port.hpp"

namespace spead::app {

/// Sends a heap from memory of the first GPU over a started port. If its packets come back (net_ring),
/// fetches their payload from the GPU, and compares every byte with the packets of the same heap in the CPU's
/// memory. Stops the port, which gives the memory back, and starts it again. Control code, no lcore polls
/// meanwhile. Never throws: an error is a finding.
Findings try_gpu_send(port::Port& port, const Endpoint& destination,
                      const std::string& library = gpu::Driver::kLibrary);

}  // namespace spead::app
