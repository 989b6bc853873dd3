// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "port/driver.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Throws UsageError when two parts of the plan, or one of them and something that the process has in use
/// already, would use one file in a way that destroys it: what ports read and write, captures, heaps.jsonl of
/// file sinks. Throws Error when a capture's directory does not exist. Opens and makes nothing. Files that a
/// process opens later are looked at again then (base/file_use.hpp).
void check_files(const Plan& plan, std::span<const port::PlannedPort> ports);

}  // namespace spead::runtime
