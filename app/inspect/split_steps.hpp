// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/inspect/findings.hpp"
#include "base/endpoint.hpp"
#include "gpu/driver.hpp"
#include "port/driver.hpp"

/// Makes the steps of `selftest` that receive packets in two parts: headers in memory of the CPU, and the
/// rest in memory of an engine. Control code; no port of the device is open. A step never throws: an error is
/// a finding.
namespace spead::app {

/// Holds the first bytes of packets that the steps leave to the CPU: enough for 11 item pointers over IPv4.
inline constexpr std::uint32_t kTriedSplit = 138;

/// Opens the planned port, whose request has `split`, with packets in memory of its engine; starts it. If its
/// own packets come back, sends some of every length, and compares each byte of both parts. Closes the port.
Findings try_split(const port::PlannedPort& planned, const Endpoint& destination);

/// Does so with memory of the first GPU.
Findings try_gpu_split(port::PlannedPort planned, const Endpoint& destination,
                       const std::string& library = gpu::Driver::kLibrary);

}  // namespace spead::app
