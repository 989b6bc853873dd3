// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "capture/options.hpp"
#include "capture/pcap_series.hpp"
#include "capture/tap.hpp"
#include "memory/mapping.hpp"
#include "stats/snapshot.hpp"

namespace spead::capture {

/// Captures one stream's packets into pcap files, with a bounded buffer, a tap for each lcore that receives
/// the stream, and a writer thread for each file.
///
/// Control code; one thread calls everything here. Life:
///
///     Capture c("s0", options, lanes, hz);   makes the files and starts the writers; throws Error
///     lane.tap = &c.tap(i);                  on the lcore (its mailbox), or before it runs; each lane has
///                                            its own i, from 0
///     ... until c.over(), or at any time ...
///     lane.tap = nullptr;                    on the lcore, or after it was joined
///     c.end();                               never before every tap is off its lane
///     ... until c.ended(), or call finish() to wait ...
///     snapshot() with add() for each tap     still answers
///
/// With options.only = false, a stream is captured besides being received: the outcomes of its packets do not
/// change, and a full buffer or disk does not affect it. With options.only packets end here; if that begins
/// on a running lane, its open heaps end by their timeout.
class Capture {
  public:
    /// Cuts the buffer into blocks at once. `hz`: ticks per second of the taps' `now`. Each writer thread
    /// first runs `on_thread` (to choose its CPUs). `wait_for`: the source is lossless and waits until a
    /// burst of frames of so many bytes has room; 0: packets without room are dropped. If another file cannot
    /// be made, an empty one may be left behind.
    Capture(const std::string& stream, const Options& options, std::size_t taps, std::uint64_t hz,
            std::function<void()> on_thread = {}, std::uint32_t wait_for = 0);
    /// Calls finish().
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    Tap& tap(std::size_t i) noexcept { return taps_[i]; }
    std::size_t taps() const noexcept { return taps_.size(); }

    /// Returns whether it takes no more packets: it has its limit, a file could not be written, or close()
    /// was called.
    bool over() const noexcept { return limit_.over.load(std::memory_order_acquire); }
    /// Returns whether its duration is over.
    bool out_of_time() const noexcept;
    /// Takes no more packets from now on: over().
    void close() noexcept;
    /// Returns why a file could not be written, with how much is kept; empty when there is no failure. May be
    /// called at any time, is complete after finish().
    std::string failure() const;

    /// Returns failure() once, when there is one.
    std::optional<std::string> news();

    /// Ends the capture: no lane may have a tap any more. The writer threads write the buffered packets,
    /// complete the files and end. Does not wait for them. Idempotent.
    void end() noexcept;
    /// Returns, after end(), whether all files are complete, so that finish() does not wait.
    bool ended() const noexcept;
    /// Calls end(), and waits as long as the disks take for the buffered packets. Idempotent.
    void finish();

    /// Returns the writers' counts. Call it before the taps' counters are read, then add() those: written
    /// packets were taken before.
    stats::CaptureSnapshot snapshot() const;

    /// Returns the smallest buffer for so many lcores and files, in bytes, if no source waits.
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
        std::atomic<bool> failed{false};  ///< set behind the last count of `packets`
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
    bool reported_ = false;  ///< by news()
};

/// Adds a tap's counts to the snapshot of its capture.
void add(stats::CaptureSnapshot& snapshot, const TapCounters& counters);

}  // namespace spead::capture
