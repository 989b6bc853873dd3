// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "port/driver.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Checks the files of a plan: those that ports read and write, captures, heaps.jsonl of file sinks. Throws
/// UsageError when two users, in the plan or in this process, would damage one file. Throws Error when a
/// capture's directory does not exist. Opens and makes nothing. Files are checked again when a process opens
/// them later (base/file_use.hpp).
void check_files(const Plan& plan, std::span<const port::PlannedPort> ports);

}  // namespace spead::runtime
