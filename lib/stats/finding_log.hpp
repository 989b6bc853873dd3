// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/engine_findings.hpp"
#include "stats/loss_record.hpp"
#include "stats/near_losses.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Follows a run and finds losses and their causes, so that each finding holds now. If a part was changed,
/// its earlier findings have ended, and say when. Pure; control code, one thread.
class FindingLog {
  public:
    /// Takes the next detailed snapshot, which counts from the start of the run. Writes into it the evidence
    /// and all findings: present ones, then ended ones.
    void observe(Snapshot& now);

    /// Takes a snapshot between two others, which need not be detailed. Writes the heaps that a change has
    /// cut into it.
    void follow(Snapshot& now) { losses_.follow(now); }

    /// Notes that the streams, senders and ports of these names have just been changed, added or removed.
    /// `now` is detailed.
    void changed(Snapshot& now, const std::vector<std::string>& names);

    /// Drops all findings so far.
    void clear(Snapshot& now);

  private:
    /// Holds what a change may replace at a stream: its counts until then are explained by it.
    struct Declared {
        std::uint32_t number;
        bool has_format;
        std::vector<std::string> path_ports;
        std::vector<std::vector<std::string>> path_endpoints;
        StreamSettings settings;
    };

    void find(const Snapshot& now);
    void find_as_declared(Snapshot now);
    void note(const Snapshot& now);

    LossRecord losses_;
    NearLosses near_;
    EngineLosses engine_losses_;
    Snapshot base_;  ///< parts, as of their last change
    std::vector<Finding> holding_;
    std::vector<Finding> over_;
    std::vector<Declared> declared_;  ///< at the last look
};

}  // namespace spead::stats
