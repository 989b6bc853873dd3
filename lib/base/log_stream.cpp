// SPDX-License-Identifier: BSD-3-Clause
#include "base/log_stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <syslog.h>
#include <utility>

#include <fmt/core.h>
#include <rte_log.h>

#include "base/counted.hpp"
#include "base/line_output.hpp"

namespace spead {

std::string LineLimiter::shape_of(std::string_view line) {
    std::string shape;
    for (const char c : line) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit)
            shape += c;
        else if (shape.empty() || shape.back() != '0')
            shape += '0';
    }
    return shape;
}

/// Reports floods that ended a while ago, and forgets shapes without recent lines.
std::string LineLimiter::settle(double now_s) {
    std::string text;
    std::erase_if(shapes_, [&](const auto& entry) {
        const Shape& s = entry.second;
        if (now_s - s.last < kSeconds)
            return false;
        if (s.held_back != 0)
            text += fmt::format("{} ({} not shown; it is quiet now)\n", s.example,
                                counted_were(s.held_back, "similar lines"));
        return true;
    });
    return text;
}

std::string LineLimiter::pass(std::string_view line, double now_s) {
    std::string text = settle(now_s);
    std::string key = shape_of(line);
    auto found = shapes_.find(key);
    if (found == shapes_.end()) {
        if (shapes_.size() == kMostShapes)
            shapes_.erase(std::min_element(shapes_.begin(), shapes_.end(), [](const auto& a, const auto& b) {
                return a.second.last < b.second.last;
            }));
        found = shapes_.emplace(std::move(key), Shape{std::string(line), now_s, now_s, 0, 0}).first;
    }
    Shape& s = found->second;
    s.last = now_s;
    if (now_s - s.since >= kSeconds) {
        s.since = now_s;
        s.passed = 0;
    }
    if (s.passed == kLines) {
        s.held_back++;
        return text;
    }
    s.passed++;
    text += line;
    if (const std::uint64_t held_back = std::exchange(s.held_back, 0); held_back != 0)
        text += fmt::format(" ({} not shown)", counted(held_back, "similar lines"));
    return text + '\n';
}

namespace {

/// Limits a line; a longer text counts as one.
constexpr std::size_t kLongestLine = 16384;

/// Holds the start of the program's own lines (base/log.cpp).
constexpr std::string_view kOurs = "spead.";

/// Holds the log's destination. Never destroyed.
struct State {
    std::mutex mutex;
    std::FILE* file = nullptr;
    LineLimiter limiter;
    LogStream::Reader reader;
    std::string begun;  ///< of a line
};

State& state() {
    static State& one = *new State;
    return one;
}

/// Lets children of fork(2) log, whatever other threads logged at that time.
void guard_forks() noexcept {
    pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                   [] { state().mutex.unlock(); });
}

void write_line(State& s, int level, std::string_view line) {
    // As EAL's own stream does; its levels are the system's and one.
    syslog(level > 0 ? level - 1 : LOG_NOTICE, "%.*s", static_cast<int>(line.size()), line.data());
    const bool critical = level > 0 && level <= static_cast<int>(RTE_LOG_CRIT);
    if (s.reader && !critical) {
        s.reader(level, line);
        return;
    }
    standard_error().put(std::string(line) + '\n');
    // No later line may come that would flush it.
    if (critical)
        standard_error().finish(LineOutput::kWait);
}

ssize_t on_log(void*, const char* text, std::size_t size) noexcept {
    const int level = rte_log_cur_msg_loglevel();
    State& s = state();
    try {
        const std::lock_guard lock(s.mutex);
        s.begun.append(text, size);
        // Some drivers log without an end of line.
        if (s.begun.size() > kLongestLine && s.begun.find('\n') == std::string::npos)
            s.begun += '\n';
        const double now =
            std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        for (std::size_t end = 0; (end = s.begun.find('\n')) != std::string::npos;
             s.begun.erase(0, end + 1)) {
            const std::string line = s.begun.substr(0, end);
            // A user who asks for more than notices wants to see all of them.
            if (line.starts_with(kOurs) || level > static_cast<int>(RTE_LOG_NOTICE)) {
                write_line(s, level, line);
                continue;
            }
            const std::string passed = s.limiter.pass(line, now);
            for (std::string_view rest = passed; !rest.empty();) {
                const std::size_t stop = rest.find('\n');
                write_line(s, level, rest.substr(0, stop));
                rest.remove_prefix(stop + 1);
            }
        }
    } catch (const std::exception&) {
        // No memory: the line is lost.
    }
    return static_cast<ssize_t>(size);
}

}  // namespace

void LogStream::install() noexcept {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (s.file != nullptr)
        return;
    cookie_io_functions_t functions{};
    functions.write = on_log;
    s.file = fopencookie(nullptr, "w", functions);
    if (s.file == nullptr)
        return;
    std::setvbuf(s.file, nullptr, _IONBF, 0);
    guard_forks();
    rte_openlog_stream(s.file);
}

void LogStream::redirect(Reader reader) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.reader = std::move(reader);
}

}  // namespace spead
