// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace spead::app {

/// A file descriptor that is closed with its owner.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

/// Reads and writes that another thread can end: `stop_fd` readable means that nobody waits any more.
class Line {
  public:
    Line(int in, int out, int stop_fd) : in_(in), out_(out), stop_(stop_fd) {}

    enum class Got : std::uint8_t { byte, end, stopped };
    /// The next byte; waits for it.
    Got get(char& c);
    /// The next line without its end; false: there is none any more. Bytes that get() has not taken count.
    bool get_line(std::string& line);
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
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace spead::app
