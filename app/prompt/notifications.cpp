// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/notifications.hpp"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead::app {

NotificationQueue::NotificationQueue() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_)
        throw_error("prompt", "cannot make an event descriptor: {}", std::strerror(errno));
}

void NotificationQueue::tell(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == kMost) {
        lines_.erase(lines_.begin());
        lost_++;
    }
    lines_.emplace_back(line);
    eventfd_write(event_.get(), 1);
}

std::string NotificationQueue::take() {
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

void Notifications::tell(std::string_view line) {
    const std::lock_guard lock(mutex_);
    for (NotificationQueue* const queue : queues_)
        queue->tell(line);
}

Notifications::Listening::Listening(Notifications& notifications, NotificationQueue& to)
    : notifications_(notifications), to_(to) {
    const std::lock_guard lock(notifications_.mutex_);
    notifications_.queues_.push_back(&to_);
}

Notifications::Listening::~Listening() {
    const std::lock_guard lock(notifications_.mutex_);
    std::erase(notifications_.queues_, &to_);
}

}  // namespace spead::app
