// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/prompt/notifications.hpp"

namespace spead::app {

/// While it lives, what is logged goes to a prompt that has the terminal to which it would be written
/// otherwise, so that it does not stand in the middle of what is typed there. What is critical or worse is
/// written at once, since nothing may come after it. The system's log gets its lines as before.
///
/// EAL runs. One at a time; any thread may log.
class PromptLog {
  public:
    /// `queue` outlives it. Where no stream can be made, nothing is changed.
    explicit PromptLog(NotificationQueue& queue);
    /// What nobody has read is written to standard error.
    ~PromptLog();
    PromptLog(const PromptLog&) = delete;
    PromptLog& operator=(const PromptLog&) = delete;

  private:
    NotificationQueue& queue_;
};

}  // namespace spead::app
