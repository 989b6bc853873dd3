// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/prompt_log.hpp"

#include <cstdio>
#include <string>

#include "base/log_stream.hpp"

namespace spead::app {

PromptLog::PromptLog(Ear& ear) : ear_(ear) {
    LogStream::install();
    LogStream::redirect([&ear](std::string_view line) { ear.tell(line); });
}

PromptLog::~PromptLog() {
    LogStream::redirect({});
    const std::string left = ear_.take();
    std::fwrite(left.data(), 1, left.size(), stderr);
}

}  // namespace spead::app
