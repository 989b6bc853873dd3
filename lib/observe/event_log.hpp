// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/json.hpp"
#include "stats/snapshot.hpp"

namespace spead::observe {

/// Keeps the latest events of a run, numbered from 1. Any control thread may add and look.
class EventLog {
  public:
    /// Limits the kept events; older ones are forgotten.
    static constexpr std::size_t kMost = 1000;

    struct Event {
        std::uint64_t sequence = 0;
        double time = 0;             ///< seconds since 1970
        std::optional<double> at_s;  ///< of the run; none: unknown
        std::string name;            ///< of the stream or sender; empty: an lcore or engine
        std::string kind;            ///< "silent"; of the others: "lcore", "engine"
        std::string text;            ///< a sentence that names its subject
    };

    /// Adds an event of a stream or a sender.
    void add(const std::string& name, const stats::LastEvent& event);
    /// Adds an event of an lcore. `what` names it. `at_s`: in the run; none: unknown.
    void add_lcore(const std::string& what, std::optional<double> at_s = std::nullopt);

    /// Adds an event of an engine, likewise.
    void add_engine(const std::string& what, double at_s);

    struct Look {
        std::vector<Event> events;  ///< oldest first
        std::uint64_t last = 0;     ///< sequence of the youngest event; 0: there was none
        std::uint64_t lost = 0;     ///< events after `since` that are forgotten
    };
    /// Returns the events after the one numbered `since`.
    Look since(std::uint64_t since) const;

  private:
    void keep(Event event);

    mutable std::mutex mutex_;
    std::deque<Event> events_;
    std::uint64_t last_ = 0;
};

Json event_json(const EventLog::Event& event);

}  // namespace spead::observe
