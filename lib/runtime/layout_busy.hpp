// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "runtime/layout.hpp"

namespace spead::runtime {

/// Returns a warning for each lcore that never pauses on a CPU that other threads of this process need. Once
/// EAL runs, with the CPUs that it gave to lcores.
std::vector<std::string> busy_warnings(const Plan& plan, const Layout& layout);

}  // namespace spead::runtime
