// SPDX-License-Identifier: BSD-3-Clause
#include "base/line_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>  // format_to: clang cannot link what core.h only declares

#include "base/counted.hpp"

namespace spead {

namespace {

/// Holds the bytes that a writable terminal takes in practice; a pipe takes PIPE_BUF.
constexpr std::size_t kCarefulPiece = 256;

/// Returns a piece to write. Writes of up to PIPE_BUF bytes do not mix with those of other processes, so
/// pieces end with a line if possible.
std::string_view piece_of(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most)
        return text;
    const std::size_t end = text.rfind('\n', most - 1);
    return text.substr(0, end == std::string_view::npos ? most : end + 1);
}

bool is_same(const struct stat& a, const struct stat& b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

}  // namespace

/// Opens the same pipe or terminal again: O_NONBLOCK on fd_ itself would affect all of its users.
void LineOutput::look() noexcept {
    struct stat now {};
    if (fstat(fd_, &now) != 0) {
        kind_ = Kind::waitless;
        own_ = FileDescriptor();
        facts_ = {};
        return;
    }
    if (kind_ != Kind::unknown && is_same(now, facts_))
        return;
    facts_ = now;
    own_ = FileDescriptor();
    kind_ = Kind::waitless;
    if (S_ISSOCK(now.st_mode)) {
        kind_ = Kind::socket;
    } else if (S_ISFIFO(now.st_mode) || (S_ISCHR(now.st_mode) && isatty(fd_) == 1)) {
        std::array<char, 32> path{};
        std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd_);
        own_ = FileDescriptor(open(path.data(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        if (!own_)
            kind_ = Kind::careful;
    }
}

/// Returns the bytes written; 0: it would have to wait; -1: the reader has gone.
ssize_t LineOutput::write_some(std::string_view text) noexcept {
    for (;;) {
        ssize_t taken = 0;
        if (kind_ == Kind::socket) {
            taken = send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (kind_ == Kind::careful) {
            if (!wait_writable(std::chrono::milliseconds(0)))
                return 0;
            taken = write(fd_, text.data(), std::min(text.size(), kCarefulPiece));
        } else {
            taken = write(target(), text.data(), text.size());
        }
        if (taken >= 0)
            return taken;
        if (errno != EINTR)
            return errno == EAGAIN ? 0 : -1;
    }
}

bool LineOutput::wait_writable(std::chrono::milliseconds longest) const noexcept {
    pollfd fd{target(), POLLOUT, 0};
    return poll(&fd, 1, static_cast<int>(longest.count())) > 0;
}

/// Writes as much as is accepted now. Returns whether anything was.
bool LineOutput::write_kept() noexcept {
    std::size_t done = 0;
    while (done < kept_.size() || dropped_ > 0) {
        if (done == kept_.size()) {
            // The reader has what came before: here stood the lines that were dropped.
            kept_.clear();
            done = 0;
            std::array<char, 128> note{};
            const auto end = fmt::format_to_n(
                note.data(), note.size(), "({} {} missing here: nobody read {} in time)\n", dropped_,
                word_for(dropped_, "line is", "lines are"), word_for(dropped_, "it", "them"));
            try {
                kept_.assign(note.data(), end.out);
            } catch (const std::bad_alloc&) {
                return true;
            }
            dropped_ = 0;
        }
        const ssize_t taken = write_some(piece_of(std::string_view(kept_).substr(done), PIPE_BUF));
        if (taken < 0) {
            // A reader that has gone misses nothing.
            kept_.clear();
            dropped_ = 0;
            return true;
        }
        if (taken == 0)
            break;
        given_up_ = false;
        done += static_cast<std::size_t>(taken);
    }
    kept_.erase(0, done);
    return done > 0;
}

bool LineOutput::fits(std::size_t size) const noexcept {
    return kept_.empty() || (dropped_ == 0 && kept_.size() + size <= kMostKept);
}

void LineOutput::wait_for_room(std::size_t size) noexcept {
    const Clock::time_point begin = Clock::now();
    if (begin - window_ >= kWindow) {
        window_ = begin;
        waited_ = {};
    }
    bool taken = false;
    for (Clock::time_point now = begin; !given_up_ && !fits(size) && waited_ < kWait;) {
        wait_writable(std::chrono::ceil<std::chrono::milliseconds>(kWait - waited_));
        taken |= write_kept();
        const Clock::time_point then = std::exchange(now, Clock::now());
        waited_ += now - then;
    }
    given_up_ |= !taken && !fits(size);
}

void LineOutput::put(std::string_view text) {
    const std::lock_guard lock(mutex_);
    look();
    write_kept();
    if (!fits(text.size()))
        wait_for_room(text.size());
    if (!fits(text.size())) {
        dropped_ += static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(std::ranges::count(text, '\n'), 1));
        return;
    }
    kept_ += text;
    write_kept();
}

bool LineOutput::flush() noexcept {
    const std::lock_guard lock(mutex_);
    if (kept_.empty() && dropped_ == 0)
        return true;
    look();
    write_kept();
    return kept_.empty() && dropped_ == 0;
}

bool LineOutput::finish(std::chrono::milliseconds patience) noexcept {
    const std::lock_guard lock(mutex_);
    look();
    Clock::time_point now = Clock::now();
    for (Clock::time_point latest = now + patience;; now = Clock::now()) {
        if (write_kept())
            latest = now + patience;
        if (kept_.empty() && dropped_ == 0)
            return true;
        if (now >= latest)
            return false;
        wait_writable(std::chrono::ceil<std::chrono::milliseconds>(latest - now));
    }
}

LineOutput& standard_error() {
    static LineOutput& one = *new LineOutput(STDERR_FILENO);
    return one;
}

}  // namespace spead
