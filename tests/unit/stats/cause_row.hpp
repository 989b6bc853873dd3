// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/diagnosis.hpp"

namespace spead::stats::test {

/// Names a cause for tests: the counts that lead to it, and the words of its sentence. It counts 77.
struct CauseRow {
    const char* name;
    void (*change)(Snapshot&);
    Cause cause;
    Stage stage;
    const char* begins;              ///< of the sentence
    std::vector<const char*> holds;  ///< in the sentence
};

}  // namespace spead::stats::test
