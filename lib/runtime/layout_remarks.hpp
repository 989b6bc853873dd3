// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/machine.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Adds remarks on what a plan has in vain, or what it lacks: addresses, IPv6 of an interface, and endpoints
/// of chunks. The layout's ports are complete.
void add_remarks(const Plan& plan, const port::Machine& machine, Layout& layout);

}  // namespace spead::runtime
