// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/handshakes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <utility>

#include <climits>
#include <fmt/core.h>

namespace spead::app {

void turn_away(const FileDescriptor& connection, std::string_view why) noexcept {
    try {
        const std::string text =
            Frame{'e', fmt::format("{}\n", why)}.bytes() + Frame{'s', fmt::format("{}", 1)}.bytes();
        // A side that does not read gets no message.
        static_cast<void>(::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    } catch (const std::exception&) {
        // No memory: it is turned away without a word.
    }
}

void Handshakes::add(FileDescriptor connection, Clock::time_point now) {
    if (pending_.size() == kMost) {
        turn_away(pending_.front().connection, "too many clients connect at once; try again");
        pending_.pop_front();
    }
    fcntl(connection.get(), F_SETFL, fcntl(connection.get(), F_GETFL) | O_NONBLOCK);
    pending_.push_back({std::move(connection), now + kPatience, {}});
}

void Handshakes::add_to(std::vector<pollfd>& descriptors) const {
    for (const Pending& one : pending_)
        descriptors.push_back({one.connection.get(), POLLIN, 0});
}

int Handshakes::milliseconds_left(Clock::time_point now) const {
    if (pending_.empty())
        return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(pending_.front().end - now);
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

bool Handshakes::read(Pending& one) {
    std::array<char, 4096> bytes;
    while (one.text.size() <= kLongest) {
        const ssize_t size = ::read(one.connection.get(), bytes.data(), bytes.size());
        if (size > 0)
            one.text.append(bytes.data(), static_cast<std::size_t>(size));
        else if (size == 0 || errno != EINTR)
            return size != 0 && errno == EAGAIN;
    }
    return true;
}

std::vector<Handshakes::Greeted> Handshakes::take(Clock::time_point now) {
    std::vector<Greeted> greeted;
    std::erase_if(pending_, [&](Pending& one) {
        const bool there = read(one);
        const std::size_t end = one.text.find('\n');
        if (end == std::string::npos && one.text.size() <= kLongest) {
            if (there && now >= one.end)
                turn_away(one.connection, "the client sent nothing for too long");
            // A process that only checks for a listener sends nothing, and disconnects.
            return !there || now >= one.end;
        }
        auto greeting = end <= kLongest ? Greeting::parse(std::string_view(one.text).substr(0, end))
                                        : std::optional<Greeting>();
        if (greeting)
            greeted.push_back({std::move(one.connection), std::move(*greeting), one.text.substr(end + 1)});
        else
            turn_away(one.connection, "this process accepts dpdk-spead attach of its own version only");
        return true;
    });
    return greeted;
}

}  // namespace spead::app
