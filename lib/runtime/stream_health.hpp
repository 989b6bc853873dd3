// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds the limits of a stream; 0: not checked.
struct HealthLimits {
    double silent_after = 0;       ///< seconds
    double loss_threshold = 0;     ///< fraction of heaps
    double expected_rate = 0;      ///< payload bytes per second
    double path_silent_after = 0;  ///< seconds without a packet of one path, while the other one has some

    bool any() const noexcept {
        return silent_after > 0 || loss_threshold > 0 || expected_rate > 0 || path_silent_after > 0;
    }
    bool operator==(const HealthLimits&) const = default;
};

/// Returns whether the event is a fault rather than the end of one.
bool is_bad(stats::StreamEvent e);
/// Returns the event as the log and prompts show it. `stream`: its name, or that of the sender.
std::string sentence_of(const std::string& stream, const stats::LastEvent& event);

/// Watches one stream for silence, lost heaps and a low rate. Reports each change once. Pure: the caller
/// passes counts and time, in seconds of the run, never decreasing.
///
/// Silence is detected at any update(). Losses and the rate are evaluated over intervals of kInterval. Losing
/// begins above the threshold and ends at half of it; slow begins below kSlow of the expected rate and ends
/// at kFast. So a stream near a limit does not raise an event every second. An interval without packets
/// counts as silence if that is watched, and else as slow; it does not affect losing.
class StreamHealth {
  public:
    static constexpr double kInterval = 1;
    static constexpr double kSlow = 0.9;
    static constexpr double kFast = 0.95;

    struct Counts {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
        std::uint64_t heaps = 0;     ///< finished; or expected in chunks
        std::uint64_t lost = 0;      ///< of them, incomplete, discarded, or missing
        std::uint64_t cut = 0;       ///< of those lost, by a change: they are no loss of the stream
        std::string counted_with{};  ///< the stream that reports the losses of shared chunks; empty: this one
        std::vector<std::string> path_ports{};  ///< of a stream with two paths
        std::array<std::uint64_t, stats::kMaxPaths> path_packets{};
    };
    static Counts counts_of(const stats::StreamSnapshot& s);

    explicit StreamHealth(const HealthLimits& limits) : limits_(limits) {}

    /// Sets new limits; without limits it rests until it gets some. Forgets the present state and starts
    /// anew; the counts of events stay for the life of the stream.
    void expect(const HealthLimits& limits);

    /// Returns the changes, oldest first. The watch begins anew when counts decrease, and when another stream
    /// reports the losses.
    std::vector<stats::LastEvent> update(double now, const Counts& counts);

    const HealthLimits& limits() const noexcept { return limits_; }
    /// Returns "ok", "silent", or those of "losing", "slow" and "path_silent" that hold, with commas; empty:
    /// there are no limits.
    std::string state() const;
    std::array<bool, stats::kMaxPaths> silent_paths() const noexcept {
        return {paths_[0].silent, paths_[1].silent};
    }
    std::uint64_t events(stats::StreamEvent e) const { return events_[static_cast<std::size_t>(e)]; }
    const std::optional<stats::LastEvent>& last_event() const noexcept { return last_; }

  private:
    void begin(double now, const Counts& counts);
    void listen(double now, const Counts& counts);
    void listen_to_paths(double now, const Counts& counts);
    void judge(double now, const Counts& counts);
    void raise(stats::StreamEvent kind, double now, std::string text);

    HealthLimits limits_;
    bool begun_ = false;
    bool silent_ = false;
    bool losing_ = false;
    bool slow_ = false;
    std::uint64_t packets_ = 0;  ///< at the last update
    double last_packet_ = 0;     ///< at the last packet, or the start of the watch
    /// Holds what was seen of one of two paths.
    struct Path {
        std::uint64_t packets = 0;  ///< at the last update
        double last = 0;            ///< at its last packet, or the start of the watch
        /// Holds the time of the other path's first packet since its last one.
        std::optional<double> behind_since{};
        bool silent = false;
    };
    std::array<Path, stats::kMaxPaths> paths_;
    double interval_ = 0;     ///< its start
    Counts interval_counts_;  ///< at its start
    std::vector<stats::LastEvent> news_;
    std::array<std::uint64_t, stats::kStreamEvents> events_{};
    std::optional<stats::LastEvent> last_;
};

}  // namespace spead::runtime
