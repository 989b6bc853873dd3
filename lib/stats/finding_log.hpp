// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stats/loss_record.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Follows a run and finds what is lost and why, so that each finding holds now: what was found of a part
/// before it was changed is over, and says until when. Pure; control world, one thread.
class FindingLog {
  public:
    /// Takes the next detailed snapshot, which counts from the start of the run, and writes into it the
    /// evidence and all findings: those that hold, then those that are over.
    void observe(Snapshot& now);

    /// The streams, senders and ports of these names have just been changed, or have come or gone. `now` is
    /// detailed.
    void changed(Snapshot& now, const std::vector<std::string>& names);

    /// Nothing that has been found so far is reported any more.
    void clear(Snapshot& now);

  private:
    void find(const Snapshot& now);

    LossRecord losses_;
    Snapshot base_;  ///< parts, as they were when each was changed last
    std::vector<Finding> holding_;
    std::vector<Finding> over_;
};

}  // namespace spead::stats
