// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace spead::config {

/// Holds a rule that a table of the configuration breaks.
struct KeyFault {
    std::string_view key;  ///< within the table
    std::string what;      ///< the fault and the fix
};

}  // namespace spead::config
