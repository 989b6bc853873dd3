// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/event_reporter.hpp"
#include "runtime/plan.hpp"
#include "runtime/stream.hpp"
#include "runtime/stream_health.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Watches the streams that have limits (HealthLimits) and reports their events.
///
/// Main thread only; never waits.
class HealthMonitor {
  public:
    using Streams = std::vector<std::unique_ptr<Stream>>;

    /// Refers to `events`, which outlive the monitor.
    explicit HealthMonitor(EventReporter& events) : events_(events) {}

    /// Checks the streams by a snapshot that counts since the start. All three arguments are in the same
    /// order. Skips a stream while one of its lcores is silent, and all streams after the program itself
    /// stopped for a time. Adds events of removed streams to `removed`.
    void watch(const stats::Snapshot& now, const std::vector<ReceivePlan>& plans, const Streams& streams,
               stats::StreamSnapshot& removed);

    /// Adds states and events to a snapshot whose streams are in the order of `streams`.
    void add_to(stats::Snapshot& snap, const Streams& streams) const;

  private:
    EventReporter& events_;
    std::map<std::uint32_t, StreamHealth> health_;  ///< by the stream's number
    double last_watch_ = 0;                         ///< seconds of the run
};

}  // namespace spead::runtime
