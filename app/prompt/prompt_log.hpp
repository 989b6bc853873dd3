// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/prompt/notifications.hpp"

namespace spead::app {

/// Redirects log lines during its life to a prompt on the same terminal, so that they do not interrupt the
/// typed line. Critical or worse lines are written at once, since nothing may come after them. The system's
/// log gets its lines as before.
///
/// EAL runs. One at a time; any thread may log.
class PromptLog {
  public:
    /// Redirects to a session's notifications, which outlive it. If no stream can be made, nothing is
    /// changed.
    explicit PromptLog(NotificationQueue& queue);
    /// Writes unread lines to standard error.
    ~PromptLog();
    PromptLog(const PromptLog&) = delete;
    PromptLog& operator=(const PromptLog&) = delete;

  private:
    NotificationQueue& queue_;
};

}  // namespace spead::app
