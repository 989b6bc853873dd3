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

/// Brings what worker lcores have counted into Worker::counts, Part and SendStream, with high-water marks.
///
/// Main thread only. An lcore that is silent is left alone: it counts as it last answered.
class LcoreCounts {
  public:
    /// All of them outlive the object.
    LcoreCounts(const Plan& plan, const RunClock& clock, LcoreSet& lcores, const PortSet& ports,
                const SenderSet& senders)
        : plan_(plan), clock_(clock), lcores_(lcores), ports_(ports), senders_(senders) {}

    /// Looks at everything that the lcore counts. Throws LcoreLost only for full_then_forget.
    void update(Worker& w, LcoreLook::Depth depth);
    void forget_peaks();
    /// Says in a snapshot, which may be of an earlier moment, which lcores are silent now.
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
