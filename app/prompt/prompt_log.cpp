// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/prompt_log.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <syslog.h>
#include <utility>

#include <rte_log.h>

namespace spead::app {

namespace {

/// Where EAL's log goes. Never destroyed: a thread may be about to write to it whenever it is taken away.
struct Stream {
    std::mutex mutex;
    Ear* ear = nullptr;  ///< null: standard error
    std::string begun;   ///< of a line
    std::FILE* file = nullptr;
};

Stream& stream() {
    static Stream& one = *new Stream;
    return one;
}

ssize_t on_log(void*, const char* text, std::size_t size) {
    const int level = rte_log_cur_msg_loglevel();
    // As EAL's own stream does; its levels are the system's and one.
    syslog(level > 0 ? level - 1 : LOG_NOTICE, "%.*s", static_cast<int>(size), text);
    Stream& s = stream();
    const std::lock_guard lock(s.mutex);
    if (s.ear == nullptr || (level > 0 && level <= static_cast<int>(RTE_LOG_CRIT))) {
        std::fwrite(text, 1, size, stderr);
        return static_cast<ssize_t>(size);
    }
    s.begun.append(text, size);
    for (std::size_t end = 0; (end = s.begun.find('\n')) != std::string::npos; s.begun.erase(0, end + 1))
        s.ear->tell(std::string_view(s.begun).substr(0, end));
    return static_cast<ssize_t>(size);
}

}  // namespace

PromptLog::PromptLog(Ear& ear) {
    Stream& s = stream();
    const std::lock_guard lock(s.mutex);
    s.ear = &ear;
    if (s.file == nullptr) {
        cookie_io_functions_t functions{};
        functions.write = on_log;
        s.file = fopencookie(nullptr, "w", functions);
        if (s.file == nullptr)
            return;
        std::setvbuf(s.file, nullptr, _IONBF, 0);
    }
    rte_openlog_stream(s.file);
}

PromptLog::~PromptLog() {
    rte_openlog_stream(nullptr);
    Stream& s = stream();
    const std::lock_guard lock(s.mutex);
    const std::string left = std::exchange(s.ear, nullptr)->take() + std::exchange(s.begun, {});
    std::fwrite(left.data(), 1, left.size(), stderr);
}

}  // namespace spead::app
