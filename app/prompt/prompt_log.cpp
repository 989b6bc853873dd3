// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/prompt_log.hpp"

#include <string>

#include "base/line_output.hpp"
#include "base/log_stream.hpp"

namespace spead::app {

PromptLog::PromptLog(Ear& ear) : ear_(ear) {
    LogStream::install();
    LogStream::redirect([&ear](std::string_view line) { ear.tell(line); });
}

PromptLog::~PromptLog() {
    LogStream::redirect({});
    if (const std::string left = ear_.take(); !left.empty())
        standard_error().put(left);
}

}  // namespace spead::app
