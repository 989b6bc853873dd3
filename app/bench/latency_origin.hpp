// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "stats/histogram.hpp"

namespace spead::app {

/// Sends stamped heaps, and measures how long each takes to come back: one at a time (ping-pong), or at a
/// fixed rate whatever comes back (load). Time is a cycle counter that the caller reads and passes in;
/// nothing here reads a clock.
///
/// A heap's stamp is the time at which it was due. So under load a stall at the sender counts for every heap
/// that it delays, not only for the first (this avoids coordinated omission).
///
/// Two threads: one calls step() until it returns false, the other reply(). result() is for when both have
/// ended.
class LatencyOrigin {
  public:
    struct Options {
        std::uint64_t hz = 1;        ///< cycles per second
        std::uint64_t interval = 0;  ///< cycles from one heap to the next; 0: ping-pong
        std::uint64_t warm_up = 0;   ///< cycles in which heaps are sent and not counted
        std::uint64_t time = 0;      ///< cycles that are measured, after them
        std::uint64_t patience = 0;  ///< cycles after which a heap that has not come back is lost
        std::uint64_t first = 1;     ///< heap count of the first heap
    };
    /// Sends a heap with this count and stamp. Returns false when that is impossible now.
    using Send = std::function<bool(std::uint64_t cnt, std::uint64_t stamp)>;

    struct Result {
        stats::FineHistogram nanoseconds;  ///< of the measured heaps that came back
        std::uint64_t sent = 0;            ///< measured heaps
        std::uint64_t warmed = 0;          ///< heaps sent before them
        std::uint64_t unsent = 0;          ///< due within the time measured, and never sent
        std::uint64_t lost() const noexcept { return sent - nanoseconds.count(); }
    };

    LatencyOrigin(const Options& options, Send send) : options_(options), send_(std::move(send)) {}

    /// Sends due heaps. Returns false when everything was sent, and came back or is lost.
    bool step(std::uint64_t now);
    /// Notes a returned heap.
    void reply(std::uint64_t cnt, std::uint64_t stamp, std::uint64_t now) noexcept;

    Result result() const;
    /// Returns the heap count after the last one sent.
    std::uint64_t next_count() const noexcept { return next_; }

  private:
    bool begun() const noexcept { return begun_.load(std::memory_order_acquire); }
    std::uint64_t measured_from() const noexcept { return start_ + options_.warm_up; }
    std::uint64_t end() const noexcept { return measured_from() + options_.time; }
    bool send_one(std::uint64_t stamp, std::uint64_t now);

    const Options options_;
    const Send send_;
    // The sending thread's; start_ is written once, before begun_.
    std::uint64_t start_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t due_ = 0;
    std::uint64_t last_sent_ = 0;  ///< when
    std::uint64_t sent_ = 0;
    std::uint64_t warmed_ = 0;
    std::atomic<bool> begun_{false};
    std::atomic<std::uint64_t> bound_{0};  ///< counts from here on were not sent
    // The replying thread's.
    stats::FineHistogram histogram_;
    std::atomic<std::uint64_t> answered_{0};  ///< one past the highest count that came back
    std::atomic<std::uint64_t> came_back_{0};
};

}  // namespace spead::app
