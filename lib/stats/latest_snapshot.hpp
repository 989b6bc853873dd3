// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Where the control executor puts its snapshots, and where any other thread of the control world reads them:
/// the prompt, telemetry, metrics. Readers never reach an lcore, nor wait for one.
///
/// publish() is called by one thread, look() by any; lcores call neither. Both hold a lock for as long as a
/// few pointers take to copy; a snapshot is never changed once it is here, and lives as long as somebody
/// looks at it.
class LatestSnapshot {
  public:
    using Clock = std::chrono::steady_clock;

    struct Entry {
        std::uint64_t sequence = 0;  ///< counts publications from 1; 0: none
        Clock::time_point time{};    ///< of publication
        std::shared_ptr<const Snapshot> snapshot;
        explicit operator bool() const noexcept { return snapshot != nullptr; }
    };

    /// Two snapshots some time apart: what rates are worked out from.
    struct View {
        Entry latest;   ///< without snapshot: nothing has been published yet
        Entry earlier;  ///< about `window` before, as far as there is one; else the oldest, or none
        /// How old the latest one is. Ages of more than a second say that the control executor is held up.
        Clock::duration age{};
        explicit operator bool() const noexcept { return static_cast<bool>(latest); }
    };

    /// Rates are over about this long, so that bursts do not make the numbers jump.
    static constexpr Clock::duration kWindow = std::chrono::seconds(1);

    void publish(Snapshot snapshot) { publish(std::move(snapshot), Clock::now()); }
    /// With a time of the caller's, which never runs backwards.
    void publish(Snapshot snapshot, Clock::time_point now);

    View look() const { return look(Clock::now()); }
    View look(Clock::time_point now) const;

  private:
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  ///< oldest first; of those older than kWindow only the youngest
    std::uint64_t sequence_ = 0;
};

}  // namespace spead::stats
