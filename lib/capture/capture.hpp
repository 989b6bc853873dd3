// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capture/options.hpp"
#include "capture/pcap_series.hpp"
#include "capture/tap.hpp"
#include "memory/mapping.hpp"
#include "stats/snapshot.hpp"

namespace spead::capture {

/// A capture of one stream's packets into pcap files: a bounded buffer, a tap for each lcore that receives
/// the stream, and a writer thread for each file.
///
/// Control world; one thread calls everything here. Life:
///
///     Capture c("s0", options, lanes, hz);       files are made, writers run; throws Error
///     lane.tap = &c.tap(i);                      on the lcore (its mailbox), or before it runs; each lane
///     its
///                                                own i, from 0
///     ... until c.over(), or whenever wanted ...
///     lane.tap = nullptr;                        on the lcore, or after it was joined
///     c.end();                                   never before every tap is off its lane
///     ... until c.ended(); who can wait calls finish() instead ...
///     snapshot() with add() for each tap         still answers
///
/// A stream that is received normally may be captured besides (options.only = false): what its packets become
/// is not changed by it, and a full buffer or disk costs it nothing. With options.only they end here; arming
/// that on a running lane leaves its open heaps to their timeout.
class Capture {
  public:
    /// The buffer is cut into blocks at once. `hz`: ticks per second of the `now` that taps are given.
    /// `on_thread` is run first by each writer thread (to choose its CPUs). `wait_for`: the source is
    /// lossless and waits until a burst of frames of so many bytes has room; 0: what has no room is dropped.
    /// An empty file may be left behind when another one cannot be made.
    Capture(const std::string& stream, const Options& options, std::size_t taps, std::uint64_t hz,
            std::function<void()> on_thread = {}, std::uint32_t wait_for = 0);
    /// finish().
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    Tap& tap(std::size_t i) noexcept { return taps_[i]; }
    std::size_t taps() const noexcept { return taps_.size(); }

    /// It takes no more packets: it has its number of them, a file could not be written, or close().
    bool over() const noexcept { return limit_.over.load(std::memory_order_acquire); }
    /// It has lasted as long as it was to.
    bool out_of_time() const noexcept;
    /// It takes no more packets from now on: over().
    void close() noexcept;
    /// Why a file could not be written, with how much is kept; empty when all is well. May be asked at any
    /// time, is complete after finish().
    std::string failure() const;

    /// Nothing more comes: no lane may have a tap any more. The writer threads write what is buffered, end
    /// the files and themselves. Does not wait for them. Idempotent.
    void end() noexcept;
    /// After end(): all files are whole, and finish() does not wait.
    bool ended() const noexcept;
    /// end(), and waits as long as the disks take for what is buffered. Idempotent.
    void finish();

    /// The writers' side. Ask it before the taps' counters are read, then add() those: what is written was
    /// taken before.
    stats::CaptureSnapshot snapshot() const;

    /// The smallest buffer for so many lcores and files, in bytes, where nothing waits.
    static std::uint64_t least_buffer(std::size_t taps, std::size_t files) noexcept;

  private:
    using Clock = std::chrono::steady_clock;
    struct Writer {
        std::unique_ptr<PcapSeries> series;
        std::vector<Tap::Way*> ways;  ///< one from each tap
        std::atomic<std::uint64_t> given{0};
        std::atomic<std::uint64_t> packets{0};
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<std::uint64_t> files{0};
        std::atomic<bool> done{false};
        std::thread thread;
    };

    void run(Writer& writer);
    bool take(Writer& writer);
    void publish(Writer& writer);
    void fail(Writer& writer);

    const std::string stream_;
    const bool only_;
    const double duration_;
    Limit limit_;
    memory::Mapping memory_;
    std::deque<Tap> taps_;
    std::deque<Writer> writers_;
    std::function<void()> on_thread_;
    std::atomic<bool> ending_{false};
    bool finished_ = false;
    const Clock::time_point begun_ = Clock::now();
    Clock::time_point ended_{};
    mutable std::mutex mutex_;
    std::string failure_;
};

/// What a tap counted, into the snapshot of its capture.
void add(stats::CaptureSnapshot& snapshot, const TapCounters& counters);

}  // namespace spead::capture
