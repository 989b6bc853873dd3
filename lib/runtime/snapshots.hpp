// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/capture_set.hpp"
#include "runtime/health_monitor.hpp"
#include "runtime/lcore_counts.hpp"
#include "runtime/stream_set.hpp"
#include "stats/finding_log.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Takes snapshots of a run: the counts of its parts and lcores, and the details that explain them.
///
/// Main thread only. It reads the parts and changes none of them. It keeps the base of cleared counters, and
/// why streams receive nothing.
class Snapshots {
  public:
    /// Refers to the objects that a snapshot is made from; all outlive it.
    struct Sources {
        const Plan& plan;
        const Layout& layout;
        const RunClock& clock;
        const PortSet& ports;
        const LcoreSet& lcores;
        const StreamSet& streams;
        const SenderSet& senders;
        const CaptureSet& captures;
        const HealthMonitor& health;
        const GatherEngines& engines;
    };

    /// Takes the sources. `by_configuration`: advice names configuration keys instead of command-line
    /// options. `settings`: what only the program knows of them, for cures.
    Snapshots(const Sources& sources, LcoreCounts& counts, bool by_configuration, stats::RunSettings settings)
        : of_(sources),
          counts_(counts),
          by_configuration_(by_configuration),
          settings_(std::move(settings)) {}

    /// Returns counts since the start. Throws LcoreLost only for full_then_forget.
    stats::Snapshot take(LcoreLook::Depth depth = LcoreLook::Depth::counts);
    /// Returns counts since the start with all details that explain them, and updates the findings.
    stats::Snapshot take_detailed();
    /// Returns the snapshot less the counts before the counters were cleared.
    stats::Snapshot since_cleared(stats::Snapshot snap) const;
    /// Restarts counts and marks. Returns when all lcores have done so, or throws LcoreLost.
    void clear();
    /// Notes that the streams, senders or ports of these names have changed. Call take_detailed() before
    /// every change, because it records the state until then.
    void parts_changed(const std::vector<std::string>& names);
    /// Notes that the run has ended: from now on, cures are for the next start.
    void note_ended() noexcept;

  private:
    void add_streams(stats::Snapshot& snap) const;
    void add_engines(stats::Snapshot& snap) const;
    void add_lcores(stats::Snapshot& snap, LcoreLook::Depth depth);
    stats::LcoreSnapshot snapshot_of(const Worker& w) const;
    void add_details(stats::Snapshot& snap);
    void add_settings(stats::Snapshot& snap);
    void look_at_machine();
    void add_absences(stats::Snapshot& snap);
    void look_for_absences(const stats::Snapshot& snap);

    const Sources of_;
    LcoreCounts& counts_;
    const bool by_configuration_;
    stats::RunSettings settings_;
    std::chrono::steady_clock::time_point next_look_at_machine_{};
    std::optional<stats::Snapshot> base_;  ///< taken when the counters were cleared
    stats::FindingLog findings_;
    std::map<std::uint32_t, std::vector<std::string>> unowned_;  ///< by stream's number; at the last look
    std::chrono::steady_clock::time_point next_look_at_absences_{};
};

}  // namespace spead::runtime
