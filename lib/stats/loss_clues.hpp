// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Says what the other streams of a port tell about a loss on the way to one of them.
struct LossClue {
    std::string what;  ///< a clause about the others: "s1, of the same sender by the same port, lost nothing"
    std::string cure;  ///< the action that follows; empty, as `what`: they tell nothing
    bool is_shared = false;  ///< the others lose alike

    /// Returns `what` as the end of a sentence: "; s1, of the same sender by the same port, lost nothing".
    std::string clause() const { return what.empty() ? what : "; " + what; }
};

/// Compares the loss of a stream in the network with those of the streams beside it. Streams of too few heaps
/// to show a loss of its size say nothing.
LossClue clue_of_others(const Snapshot& snapshot, const StreamSnapshot& s);

/// Adds what follows from the clue to the looks at this machine: behind them, if all streams lose alike.
Cures with_clue(const LossClue& clue, Cures looks);

}  // namespace spead::stats
