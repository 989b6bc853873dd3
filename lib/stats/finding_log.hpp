// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stats/loss_record.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Follows a run and finds losses and their causes, so that each finding holds now. If a part was changed,
/// its earlier findings have ended, and say when. Pure; control code, one thread.
class FindingLog {
  public:
    /// Takes the next detailed snapshot, which counts from the start of the run. Writes into it the evidence
    /// and all findings: present ones, then ended ones.
    void observe(Snapshot& now);

    /// Notes that the streams, senders and ports of these names have just been changed, added or removed.
    /// `now` is detailed.
    void changed(Snapshot& now, const std::vector<std::string>& names);

    /// Drops all findings so far.
    void clear(Snapshot& now);

  private:
    void find(const Snapshot& now);

    LossRecord losses_;
    Snapshot base_;  ///< parts, as of their last change
    std::vector<Finding> holding_;
    std::vector<Finding> over_;
};

}  // namespace spead::stats
