// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace spead::app {

/// Holds the time of the last read or write. Any thread reads it.
class LastUse {
  public:
    using Clock = std::chrono::steady_clock;

    void now() noexcept { time_.store(Clock::now(), std::memory_order_relaxed); }
    Clock::time_point time() const noexcept { return time_.load(std::memory_order_relaxed); }

  private:
    std::atomic<Clock::time_point> time_{Clock::now()};
};

/// Reads and writes; another thread can end its waits by making `stop_fd` readable.
class Line {
  public:
    /// Takes the descriptors. `begun`: input that has been read already.
    Line(int in, int out, int stop_fd, std::string begun = {})
        : in_(in), out_(out), stop_(stop_fd), buffer_(std::move(begun)) {}

    /// Limits the length of a line.
    static constexpr std::size_t kLongestLine = std::size_t{64} << 10;
    /// Sets the watcher of its use, which outlives it.
    void watch(LastUse& use) { use_ = &use; }

    enum class Got : std::uint8_t { byte, end, stopped };
    /// Waits for the next byte and takes it.
    Got get(char& c);
    /// Takes the next line without its end. Returns false when there is no more, or it is too_long(). Bytes
    /// that get() has not taken count.
    bool get_line(std::string& line);
    /// Returns whether a line was longer than kLongestLine. It was discarded, and no more is read.
    bool too_long() const { return too_long_; }
    /// Calls `tell`, which consumes the event, whenever `fd` is readable during a wait for a byte.
    void hear(int fd, std::function<void()> tell) {
        news_ = fd;
        tell_ = std::move(tell);
    }
    /// Writes text. Returns false when not all could be written: the other side has gone, or it takes nothing
    /// and stop was requested. Later writes then do nothing.
    bool put(std::string_view text);
    /// Waits for that long. Returns false when the other side wrote something (a byte is taken) or has gone,
    /// or at stop.
    bool wait_undisturbed(double seconds);
    /// Waits for that long. Returns false when there is more to read, or it has ended, or output is no longer
    /// read, or at stop. Takes nothing.
    bool wait_quiet(double seconds) const;
    /// Does the same regardless of earlier input: only the end of the other side counts.
    bool wait_connected(double seconds) const;
    /// Waits for that long, regardless of the other side. Returns false at stop.
    bool wait_for_stop(double seconds) const;
    bool gone() const { return gone_; }
    bool stopped() const;

  private:
    bool fill();

    int in_;
    int out_;
    int stop_;
    int news_ = -1;
    std::function<void()> tell_;
    bool gone_ = false;
    bool too_long_ = false;
    LastUse* use_ = nullptr;
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace spead::app
