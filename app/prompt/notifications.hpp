// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/line.hpp"

/// Delivers notifications to sessions.
namespace spead::app {

/// Holds the unread notifications of one session. Any thread may add one without waiting; one thread reads.
class NotificationQueue {
  public:
    /// Makes the queue. Throws Error when the system has no event descriptor left.
    NotificationQueue();
    NotificationQueue(const NotificationQueue&) = delete;
    NotificationQueue& operator=(const NotificationQueue&) = delete;

    /// Adds `line`, which has no newline. At most kMost are kept: the oldest go, and take() says so.
    void tell(std::string_view line);
    /// Takes all unread lines, each with a newline.
    std::string take();
    /// Returns a descriptor that is readable while a line is unread.
    int fd() const { return event_.get(); }

    static constexpr std::size_t kMost = 100;

  private:
    FileDescriptor event_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::size_t lost_ = 0;
};

/// Sends notifications to every listening session.
class Notifications {
  public:
    void tell(std::string_view line);

    /// Listens from construction to destruction; `to` outlives it.
    class Listening {
      public:
        Listening(Notifications& notifications, NotificationQueue& to);
        ~Listening();
        Listening(const Listening&) = delete;
        Listening& operator=(const Listening&) = delete;

      private:
        Notifications& notifications_;
        NotificationQueue& to_;
    };

  private:
    std::mutex mutex_;
    std::vector<NotificationQueue*> queues_;
};

}  // namespace spead::app
