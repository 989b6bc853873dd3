// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <set>

#include "app/inspect/findings.hpp"
#include "port/machine.hpp"
#include "runtime/layout.hpp"

/// Checks the machine for a run: memory, CPUs, capabilities, the kernel's limits. Reads, changes nothing.
namespace spead::app {

/// Checks huge pages for EAL's memory; `must`: a card needs them.
Finding check_huge_pages(const port::Machine& machine, const runtime::EalMemory& need, bool must);

/// Checks locked memory; `bytes` is the memory that cards reach.
Finding check_memlock(const port::Machine& machine, std::size_t bytes);

/// Checks whether the chunks of all streams get the memory that `memory` of [receive.chunk] names.
Findings check_chunks(const port::Machine& machine, const runtime::Layout& layout, const runtime::Plan& plan);

/// Checks which of the capabilities that ports use this process has.
Finding check_capabilities(const port::Machine& machine);

/// Checks frequency scaling of the workers' CPUs.
Finding check_governor(const port::Machine& machine, const std::set<unsigned>& cpus);

/// Checks whether the kernel keeps other work off the workers' CPUs.
Finding check_isolation(const port::Machine& machine, const std::set<unsigned>& cpus);

/// Tries the copies of payload, for lcores on `cpus`, of which there is one at least.
Finding check_copies(const port::Machine& machine, const std::set<unsigned>& cpus);

/// Checks limits of group membership, for plans that join through the kernel.
Findings check_membership(const port::Machine& machine, const runtime::Layout& layout,
                          const runtime::Plan& plan);

}  // namespace spead::app
