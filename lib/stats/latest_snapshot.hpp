// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Passes snapshots from the control executor to any other control thread: the prompt, telemetry, metrics.
/// Readers never reach an lcore, nor wait for one.
///
/// One thread calls publish(), any thread look(); lcores call neither. Both hold a lock for as long as a few
/// pointers take to copy. A published snapshot never changes, and lives as long as a reader has it.
class LatestSnapshot {
  public:
    using Clock = std::chrono::steady_clock;

    struct Entry {
        std::uint64_t sequence = 0;  ///< counts publications from 1; 0: none
        Clock::time_point time{};    ///< of publication
        std::shared_ptr<const Snapshot> snapshot;
        explicit operator bool() const noexcept { return snapshot != nullptr; }
    };

    /// Holds two snapshots some time apart, for rates.
    struct View {
        Entry latest;   ///< without snapshot: nothing has been published yet
        Entry earlier;  ///< about `window` before, as far as there is one; else the oldest, or none
        /// Holds the age of the latest one. Ages of more than a second mean that the control executor is
        /// busy.
        Clock::duration age{};
        explicit operator bool() const noexcept { return static_cast<bool>(latest); }
    };

    /// Averages rates over about this long, so that bursts do not make the numbers jump.
    static constexpr Clock::duration kWindow = std::chrono::seconds(1);

    void publish(Snapshot snapshot) { publish(std::move(snapshot), Clock::now()); }
    /// Publishes with a time of the caller's, which never decreases.
    void publish(Snapshot snapshot, Clock::time_point now);

    View look() const { return look(Clock::now()); }
    View look(Clock::time_point now) const;

  private:
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  ///< oldest first; of those older than kWindow only the youngest
    std::uint64_t sequence_ = 0;
};

}  // namespace spead::stats
