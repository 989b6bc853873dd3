// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/line.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <poll.h>
#include <unistd.h>

#include <climits>

namespace spead::app {

namespace {

int poll_again(pollfd* fds, nfds_t count, int timeout) {
    int ready = 0;
    do
        ready = poll(fds, count, timeout);
    while (ready < 0 && errno == EINTR);
    return ready;
}

int milliseconds(double seconds) {
    return static_cast<int>(std::min(std::ceil(seconds * 1000), double{INT_MAX}));
}

/// Holds the bytes that a writable pipe or terminal takes without waiting.
constexpr std::size_t kLineChunk = 512;

}  // namespace

bool Line::stopped() const {
    pollfd fd{stop_, POLLIN, 0};
    return poll_again(&fd, 1, 0) > 0;
}

/// Reads bytes. Returns true when there are some; false at the end, and when stopped.
bool Line::fill() {
    if (taken_ < buffer_.size())
        return true;
    if (too_long_)
        return false;
    // poll(2) passes over a negative descriptor.
    std::array<pollfd, 3> fds{pollfd{stop_, POLLIN, 0}, pollfd{in_, POLLIN, 0}, pollfd{news_, POLLIN, 0}};
    do {
        poll_again(fds.data(), fds.size(), -1);
        if (fds[0].revents != 0)
            return false;
        if (fds[2].revents != 0)
            tell_();
    } while (fds[1].revents == 0);
    std::array<char, 4096> bytes;
    ssize_t size = 0;
    do
        size = read(in_, bytes.data(), bytes.size());
    while (size < 0 && errno == EINTR);
    buffer_.assign(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    taken_ = 0;
    if (use_ != nullptr)
        use_->now();
    return !buffer_.empty();
}

Line::Got Line::get(char& c) {
    if (!fill())
        return stopped() ? Got::stopped : Got::end;
    c = buffer_[taken_++];
    return Got::byte;
}

bool Line::get_line(std::string& line) {
    line.clear();
    char c = 0;
    while (true) {
        const Got got = get(c);
        if (got == Got::stopped)
            return false;
        if (got == Got::end)
            return !line.empty();
        if (c == '\n')
            return true;
        if (line.size() == kLongestLine) {
            too_long_ = true;
            taken_ = buffer_.size();
            return false;
        }
        line += c;
    }
}

bool Line::put(std::string_view text) {
    while (!text.empty() && !gone_) {
        std::array<pollfd, 2> fds{pollfd{out_, POLLOUT, 0}, pollfd{stop_, POLLIN, 0}};
        // Text that can be written at once is written even when the end is near.
        if (poll_again(fds.data(), 1, 0) == 0)
            poll_again(fds.data(), fds.size(), -1);
        if (fds[0].revents == 0) {
            gone_ = true;
            break;
        }
        const ssize_t written = write(out_, text.data(), std::min(text.size(), kLineChunk));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            gone_ = true;
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        if (written > 0 && use_ != nullptr)
            use_->now();
    }
    return !gone_;
}

bool Line::wait_undisturbed(double seconds) {
    if (gone_)
        return false;
    std::array<pollfd, 2> fds{pollfd{stop_, POLLIN, 0}, pollfd{in_, POLLIN, 0}};
    if (taken_ == buffer_.size() && poll_again(fds.data(), fds.size(), milliseconds(seconds)) == 0)
        return true;
    char c = 0;
    if (fds[0].revents == 0)
        get(c);
    return false;
}

bool Line::wait_quiet(double seconds) const {
    if (gone_ || taken_ < buffer_.size())
        return false;
    std::array<pollfd, 3> fds{pollfd{stop_, POLLIN, 0}, pollfd{in_, POLLIN, 0}, pollfd{out_, 0, 0}};
    return poll_again(fds.data(), fds.size(), milliseconds(seconds)) == 0;
}

bool Line::wait_connected(double seconds) const {
    if (gone_)
        return false;
    // No event requested: a hang-up is reported nevertheless.
    std::array<pollfd, 2> fds{pollfd{stop_, POLLIN, 0}, pollfd{in_, 0, 0}};
    return poll_again(fds.data(), fds.size(), milliseconds(seconds)) == 0;
}

bool Line::wait_for_stop(double seconds) const {
    pollfd stop{stop_, POLLIN, 0};
    return poll_again(&stop, 1, milliseconds(seconds)) == 0;
}

}  // namespace spead::app
