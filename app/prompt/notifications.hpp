// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/line.hpp"

/// Notifications: lines that those at a prompt get without having asked.
namespace spead::app {

/// Notifications that one session has not read yet. Any thread may tell, and waits for nobody; one reads.
class NotificationQueue {
  public:
    /// Throws Error when the system has no event descriptor left.
    NotificationQueue();
    NotificationQueue(const NotificationQueue&) = delete;
    NotificationQueue& operator=(const NotificationQueue&) = delete;

    /// `line` has no newline. Of more than kMost unread ones the oldest go, which take() says.
    void tell(std::string_view line);
    /// All that is unread, a newline behind each.
    std::string take();
    /// Readable while something is unread.
    int fd() const { return event_.get(); }

    static constexpr std::size_t kMost = 100;

  private:
    FileDescriptor event_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::size_t lost_ = 0;
};

/// Notifies every queue that listens.
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
