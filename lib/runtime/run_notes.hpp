// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::runtime {

/// Holds the sentences that a run leaves for its user. Main thread only.
struct RunNotes {
    std::vector<std::string> problems;  ///< make the program's exit status 1
    std::vector<std::string> remarks;   ///< no errors
};

}  // namespace spead::runtime
