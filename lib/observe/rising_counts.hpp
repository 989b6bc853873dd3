// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "stats/snapshot.hpp"

namespace spead::observe {

/// Keeps three counts of each stream from decreasing from one page to the next.
///
/// A heap's packets are counted as placed when they arrive. If the heap proves to be stream control or a
/// wrong claim, they move to another outcome, and the heap was never started (docs/counters.md). If a count
/// decreases, Prometheus assumes a restart at 0, and adds all of it once more. So such a count keeps its
/// former value until the actual count reaches it.
///
/// For one thread.
class RisingCounts {
  public:
    struct Counts {
        std::uint64_t placed = 0;
        std::uint64_t bytes = 0;
        std::uint64_t heaps_started = 0;
    };

    /// Notes a snapshot that is not older than the one before it. Counts restart if the counters have been
    /// cleared since, or if another stream has the name.
    void update(const stats::Snapshot& now);

    /// Returns the counts of a stream of the last snapshot.
    Counts of(const stats::StreamSnapshot& stream) const;

  private:
    struct Reported {
        std::uint32_t number = 0;
        Counts counts;
    };
    std::map<std::string, Reported> reported_;  ///< by stream
    double cleared_s_ = 0;
};

}  // namespace spead::observe
