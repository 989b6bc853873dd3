// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace spead {

/// Writes lines to a descriptor whose reader may be slow, stopped (Ctrl-S), or may never read.
///
/// Keeps text that a pipe, a terminal or a socket does not take at once, up to kMostKept bytes, and writes it
/// later. If more comes, a caller waits for the reader, for at most kWait in each kWindow. A reader that took
/// nothing in all that time is not waited for again before it has taken something. Lines that do not fit then
/// are dropped, and a note on their number replaces them. Files and other devices are written to at once.
///
/// Thread-safe. Not for signal handlers, nor for lcores of the data path.
class LineOutput {
  public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::size_t kMostKept = 65536;
    static constexpr std::chrono::milliseconds kWait{200};
    static constexpr std::chrono::milliseconds kWindow{1000};

    /// Writes to `fd`, which it does not own. If another file takes its number later, the lines go there.
    explicit LineOutput(int fd) noexcept : fd_(fd) {}
    LineOutput(const LineOutput&) = delete;
    LineOutput& operator=(const LineOutput&) = delete;

    int fd() const noexcept { return fd_; }

    /// Writes `text`, which ends with an end of line, as a whole or not at all. Text of any length is kept if
    /// nothing else is. Throws std::bad_alloc.
    void put(std::string_view text);

    /// Writes as much of the kept text as the reader takes now. Does not wait. Returns whether all is
    /// written. Call it regularly, so that a reader gets lines, and the note, without a next line.
    bool flush() noexcept;

    /// Does what flush() does, and waits for the reader until it has taken nothing for `patience`.
    bool finish(std::chrono::milliseconds patience) noexcept;

  private:
    enum class Kind : std::uint8_t {
        unknown,
        waitless,  ///< a write to it never waits for a reader, or fails with EAGAIN
        socket,
        careful,  ///< a pipe or terminal that cannot be opened again: polled before small writes
    };

    void look() noexcept;
    bool fits(std::size_t size) const noexcept;
    void wait_for_room(std::size_t size) noexcept;
    bool wait_writable(std::chrono::milliseconds longest) const noexcept;
    bool write_kept() noexcept;
    ssize_t write_some(std::string_view text) noexcept;
    int target() const noexcept { return own_ ? own_.get() : fd_; }

    const int fd_;
    std::mutex mutex_;  ///< guards all members below
    Kind kind_ = Kind::unknown;
    struct stat facts_ {};       ///< of fd_ at the last look
    FileDescriptor own_;         ///< the same pipe or terminal, opened again without waiting
    std::string kept_;           ///< not yet written; may begin within a line
    std::uint64_t dropped_ = 0;  ///< lines since the last note
    bool given_up_ = false;      ///< the reader took nothing for kWait
    Clock::time_point window_{};
    Clock::duration waited_{};  ///< since window_
};

/// Returns the one for standard error, as long as the process lasts: all output of the program there goes
/// through it.
LineOutput& standard_error();

}  // namespace spead
