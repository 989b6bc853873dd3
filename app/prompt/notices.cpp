// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/notices.hpp"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"

namespace spead::app {

Ear::Ear() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_)
        throw_error("prompt", "cannot make an event descriptor: {}", std::strerror(errno));
}

void Ear::tell(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == kMost) {
        lines_.erase(lines_.begin());
        lost_++;
    }
    lines_.emplace_back(line);
    eventfd_write(event_.get(), 1);
}

std::string Ear::take() {
    const std::lock_guard lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(event_.get(), &ignored);
    std::string text;
    if (const std::size_t lost = std::exchange(lost_, 0); lost != 0)
        text = fmt::format("({} more before)\n", lost);
    for (const std::string& line : std::exchange(lines_, {}))
        text += line + "\n";
    return text;
}

void Notices::tell(std::string_view line) {
    const std::lock_guard lock(mutex_);
    for (Ear* const ear : ears_)
        ear->tell(line);
}

Notices::Listening::Listening(Notices& notices, Ear& to) : notices_(notices), to_(to) {
    const std::lock_guard lock(notices_.mutex_);
    notices_.ears_.push_back(&to_);
}

Notices::Listening::~Listening() {
    const std::lock_guard lock(notices_.mutex_);
    std::erase(notices_.ears_, &to_);
}

}  // namespace spead::app
