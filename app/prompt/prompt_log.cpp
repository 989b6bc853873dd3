// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/prompt_log.hpp"

#include <string>

#include "base/line_output.hpp"
#include "base/log_stream.hpp"

namespace spead::app {

PromptLog::PromptLog(NotificationQueue& queue) : queue_(queue) {
    LogStream::install();
    LogStream::redirect([&queue](int, std::string_view line) { queue.tell(line); });
}

PromptLog::~PromptLog() {
    LogStream::redirect({});
    if (const std::string left = queue_.take(); !left.empty())
        standard_error().put(left);
}

}  // namespace spead::app
