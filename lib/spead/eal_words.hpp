// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::door {

/// Throws UsageError for a word of EAL's that ends the process (help, version) or makes it another's
/// (--proc-type), also where it is abbreviated, or one of several letters behind one dash.
void need_harmless(const std::vector<std::string>& words);

}  // namespace spead::door
