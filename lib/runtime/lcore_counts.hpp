// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/run_clock.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Updates Worker::counts, Part and SendStream from the worker lcores' counts, with high-water marks.
///
/// Main thread only. A silent lcore is not waited for: its last counts stay.
class LcoreCounts {
  public:
    /// Refers to all of them; they outlive the object.
    LcoreCounts(const Plan& plan, const RunClock& clock, LcoreSet& lcores, const PortSet& ports,
                const SenderSet& senders)
        : plan_(plan), clock_(clock), lcores_(lcores), ports_(ports), senders_(senders) {}

    /// Copies everything that the lcore counts. Throws LcoreLost only for full_then_forget.
    void update(Worker& w, LcoreLook::Depth depth);
    void forget_peaks();
    /// Marks the lcores that are silent now in a snapshot, which may be older.
    void mark_silent(stats::Snapshot& snap) const;

  private:
    std::unique_ptr<LcoreLook> make_look(Worker& w, LcoreLook::Depth depth);
    void keep(Worker& w, std::unique_ptr<LcoreLook> look);
    void keep_peaks(Worker& w) const;

    const Plan& plan_;
    const RunClock& clock_;
    LcoreSet& lcores_;
    const PortSet& ports_;
    const SenderSet& senders_;
};

}  // namespace spead::runtime
