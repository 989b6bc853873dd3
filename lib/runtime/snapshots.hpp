// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/capture_set.hpp"
#include "runtime/health_monitor.hpp"
#include "runtime/lcore_counts.hpp"
#include "runtime/stream_set.hpp"
#include "stats/finding_log.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Takes snapshots of a run: what its parts and its lcores have counted, and what explains the counts.
///
/// Main thread only. It reads the parts and changes none of them; it keeps the base of cleared counters, and
/// why streams get nothing.
class Snapshots {
  public:
    /// What a snapshot is made from; all of it outlives the object.
    struct Sources {
        const Plan& plan;
        const RunClock& clock;
        const PortSet& ports;
        const LcoreSet& lcores;
        const StreamSet& streams;
        const SenderSet& senders;
        const CaptureSet& captures;
        const HealthMonitor& health;
    };

    /// `by_configuration`: advice names keys of a configuration, not options of a command.
    Snapshots(const Sources& sources, LcoreCounts& counts, bool by_configuration)
        : of_(sources), counts_(counts), by_configuration_(by_configuration) {}

    /// Returns counts since the start. Throws LcoreLost only for full_then_forget.
    stats::Snapshot take(LcoreLook::Depth depth = LcoreLook::Depth::counts);
    /// Returns counts since the start with everything that explains them, and follows the findings.
    stats::Snapshot take_detailed();
    /// Returns the snapshot less what was counted before the counters were cleared.
    stats::Snapshot since_cleared(stats::Snapshot snap) const;
    /// Begins counts and marks anew: returns with all lcores' consent, or throws LcoreLost.
    void clear();
    /// Notes that streams, senders or ports of these names are others now. What happened before is what was
    /// seen of them then: take_detailed() goes before every change.
    void parts_changed(const std::vector<std::string>& names);

  private:
    void add_streams(stats::Snapshot& snap) const;
    void add_lcores(stats::Snapshot& snap, LcoreLook::Depth depth);
    stats::LcoreSnapshot snapshot_of(const Worker& w) const;
    void add_details(stats::Snapshot& snap);
    void add_absences(stats::Snapshot& snap);
    void look_for_absences(const stats::Snapshot& snap);

    const Sources of_;
    LcoreCounts& counts_;
    const bool by_configuration_;
    std::optional<stats::Snapshot> base_;  ///< of when the counters were cleared
    stats::FindingLog findings_;
    std::map<std::uint32_t, std::vector<std::string>> unowned_;  ///< by stream's number; when last looked
    std::chrono::steady_clock::time_point next_look_at_absences_{};
};

}  // namespace spead::runtime
