// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <set>

#include "app/inspect/findings.hpp"
#include "port/machine.hpp"
#include "runtime/layout.hpp"

/// What the machine as a whole gives a run: memory, CPUs, capabilities, the kernel's limits. Reads, changes
/// nothing.
namespace spead::app {

/// Huge pages for EAL's memory; `must` where a card needs them.
Finding check_huge_pages(const port::Machine& machine, const runtime::EalMemory& need, bool must);

/// Locked memory; `bytes` is what cards reach.
Finding check_memlock(const port::Machine& machine, std::size_t bytes);

/// Which capabilities this process has, of those that ports use.
Finding check_capabilities(const port::Machine& machine);

/// Frequency scaling of the workers' CPUs.
Finding check_governor(const port::Machine& machine, const std::set<unsigned>& cpus);

/// Whether the kernel keeps other work off the workers' CPUs.
Finding check_isolation(const port::Machine& machine, const std::set<unsigned>& cpus);

/// Limits of group membership, for plans that join through the kernel.
Findings check_membership(const port::Machine& machine, const runtime::Layout& layout,
                          const runtime::Plan& plan);

}  // namespace spead::app
