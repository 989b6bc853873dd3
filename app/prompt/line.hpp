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

/// When something was last read or written. Any thread looks.
class LastUse {
  public:
    using Clock = std::chrono::steady_clock;

    void now() noexcept { time_.store(Clock::now(), std::memory_order_relaxed); }
    Clock::time_point time() const noexcept { return time_.load(std::memory_order_relaxed); }

  private:
    std::atomic<Clock::time_point> time_{Clock::now()};
};

/// Reads and writes that another thread can end: `stop_fd` readable means that nobody waits any more.
class Line {
  public:
    /// `begun`: what has been read already.
    Line(int in, int out, int stop_fd, std::string begun = {})
        : in_(in), out_(out), stop_(stop_fd), buffer_(std::move(begun)) {}

    /// No line is longer than this.
    static constexpr std::size_t kLongestLine = std::size_t{64} << 10;
    /// Who watches whether it is in use; outlives it.
    void watch(LastUse& use) { use_ = &use; }

    enum class Got : std::uint8_t { byte, end, stopped };
    /// The next byte; waits for it.
    Got get(char& c);
    /// The next line without its end; false: there is none any more, or it is too_long(). Bytes that get()
    /// has not taken count.
    bool get_line(std::string& line);
    /// A line was longer than kLongestLine: it was thrown away, and nothing is read any more.
    bool too_long() const { return too_long_; }
    /// While a byte is waited for, `tell` is called whenever `fd` is readable, which it ends.
    void hear(int fd, std::function<void()> tell) {
        news_ = fd;
        tell_ = std::move(tell);
    }
    /// False when it could not all be written: the other side is gone, or it takes nothing and stop was asked
    /// for. Later writes then do nothing.
    bool put(std::string_view text);
    /// Waits so long. False: the other side wrote something (a byte is taken) or is gone, or stop.
    bool wait_undisturbed(double seconds);
    /// Waits so long. False: there is more to read, or it has ended, or nobody reads what is written, or
    /// stop. Takes nothing.
    bool wait_quiet(double seconds) const;
    /// The same when what was written before is of no interest: only that the other side is gone.
    bool wait_connected(double seconds) const;
    /// Waits so long, whatever the other side does. False: stop.
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
