// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "base/line_output.hpp"
#include "stats/snapshot.hpp"

namespace spead::observe {

/// Holds the values of the progress line, summed over all streams, senders and ports.
struct ProgressSample {
    double time_s = 0;
    bool receives = false;
    bool sends = false;
    std::uint64_t rx_bytes = 0;  ///< payload placed
    std::uint64_t rx_packets = 0;
    std::uint64_t heaps_complete = 0;
    std::uint64_t heaps_incomplete = 0;
    std::uint64_t heaps_dropped = 0;
    std::uint64_t heaps_unwritten = 0;  ///< lost because a sink had failed
    std::uint64_t heaps_wrong = 0;
    std::uint64_t missed = 0;  ///< by the NIC
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_heaps = 0;
    std::string silent;     ///< lcores that do not answer: "lcore 2, 3"
    std::string stalled{};  ///< an engine that stands still
};

ProgressSample progress_sample(const stats::Snapshot& snapshot);

/// Returns "12.0 s | rx 9.87 Gb/s, 1.21 Mpps, 3021 heaps, 3 incomplete | tx 9.87 Gb/s, 1.21 Mpps, 3022
/// heaps": rates between the two samples, counts of the second.
std::string progress_line(const ProgressSample& from, const ProgressSample& to);

/// Shows a line on the terminal, overwritten at every update. Does nothing when `wanted` is false or `out` is
/// no terminal. Does not wait for a terminal that takes nothing (Ctrl-S). While the line is shown, the log's
/// lines go above it: one Progress at a time, and no PromptLog beside it. One thread calls update() and
/// finish(); any thread may log.
class Progress {
  public:
    explicit Progress(bool wanted, LineOutput& out = standard_error());
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(const stats::Snapshot& snapshot);
    /// Erases the line, so that later output starts on a clean one. Other lines then go their usual way.
    void finish();

  private:
    void draw(std::string line);
    std::string erased() const;
    /// Writes a line of the log above the progress line.
    void above(std::string_view line);

    /// Averages rates over about this long, so that bursts do not make the numbers jump.
    static constexpr double kWindow = 1.0;

    LineOutput* out_;  ///< null: nothing is shown
    std::deque<ProgressSample> samples_;
    std::mutex mutex_;   ///< guards what is on the terminal
    std::string shown_;  ///< the present line
};

}  // namespace spead::observe
