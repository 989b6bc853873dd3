// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::runtime {

/// What is expected of a stream; 0: nothing.
struct HealthLimits {
    double silent_after = 0;    ///< seconds
    double loss_threshold = 0;  ///< fraction of heaps
    double expected_rate = 0;   ///< payload bytes per second

    bool any() const noexcept { return silent_after > 0 || loss_threshold > 0 || expected_rate > 0; }
    bool operator==(const HealthLimits&) const = default;
};

/// Not an end of something bad.
bool is_bad(stats::StreamEvent e);
/// As it is logged and reported at prompts. `stream`: its name, or that of the sender.
std::string sentence_of(const std::string& stream, const stats::LastEvent& event);

/// Watches one stream: is it silent, does it lose heaps, is it slow? Each change is reported once. Pure: time
/// and counts come from outside, the time in seconds of the run, never backwards.
///
/// Silence is noticed at any update(). Losses and the rate are judged over intervals of kInterval: losing
/// begins above the threshold and is over at half of it, slow begins below kSlow of the expected rate and is
/// over at kFast, so that a stream on the edge does not raise an event every second. Intervals in which
/// nothing comes are silence where that is watched, and slow otherwise; they say nothing about losses.
class StreamHealth {
  public:
    static constexpr double kInterval = 1;
    static constexpr double kSlow = 0.9;
    static constexpr double kFast = 0.95;

    struct Counts {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
        std::uint64_t heaps = 0;  ///< that ended
        std::uint64_t lost = 0;   ///< of them, incomplete or thrown away
    };
    static Counts counts_of(const stats::StreamSnapshot& s);

    explicit StreamHealth(const HealthLimits& limits) : limits_(limits) {}

    /// What is expected from now on; nothing: it rests until something is. What was noticed so far is
    /// forgotten, and what comes is judged anew; events stay counted, for the life of the stream.
    void expect(const HealthLimits& limits);

    /// What has changed, oldest first. Counts that run backwards are those of a stream that began anew.
    std::vector<stats::LastEvent> update(double now, const Counts& counts);

    const HealthLimits& limits() const noexcept { return limits_; }
    /// "ok", "silent", "losing", "slow" or "losing, slow"; empty: nothing is expected.
    std::string state() const;
    std::uint64_t events(stats::StreamEvent e) const { return events_[static_cast<std::size_t>(e)]; }
    const std::optional<stats::LastEvent>& last_event() const noexcept { return last_; }

  private:
    void begin(double now, const Counts& counts);
    void listen(double now, const Counts& counts);
    void judge(double now, const Counts& counts);
    void raise(stats::StreamEvent kind, double now, std::string text);

    HealthLimits limits_;
    bool begun_ = false;
    bool silent_ = false;
    bool losing_ = false;
    bool slow_ = false;
    std::uint64_t packets_ = 0;  ///< at the last update
    double last_packet_ = 0;     ///< when one was noticed, or the watch began
    double interval_ = 0;        ///< when it began
    Counts interval_counts_;     ///< then
    std::vector<stats::LastEvent> news_;
    std::array<std::uint64_t, stats::kStreamEvents> events_{};
    std::optional<stats::LastEvent> last_;
};

}  // namespace spead::runtime
