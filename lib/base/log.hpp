// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"

/// Writes log lines of control code through DPDK's log (types `spead.*`), so that `--log-level` and EAL's log
/// stream apply to them. Usable before rte_eal_init and without it: lines then go to standard error.
/// Thread-safe.
///
/// Never on the data path: lcores count, they do not log.
namespace spead {

enum class LogType : std::uint8_t { app, config, runtime, port, driver, recv, send, memory, heap, count_ };

/// Lists log levels; the values are RTE_LOG_*.
enum class LogLevel : std::uint8_t { error = 4, warning = 5, notice = 6, info = 7, debug = 8 };

/// Returns whether a line of this type and level would be written.
bool log_enabled(LogType type, LogLevel level) noexcept;

/// Logs one line, without its newline. Control characters in `text` (a received name) are shown as \xNN.
void log_text(LogType type, LogLevel level, std::string_view text);

/// Sets levels from `--log-level` or `[runtime] log_level`: a level ("error", "warning", "notice", "info",
/// "debug") for all of spead.*, or DPDK's "pattern:level" ("pmd.net.memif:debug"), several separated by `;`.
/// Throws UsageError naming the wrong part and the existing levels.
void set_log_level(std::string_view text, std::string_view where = {});

/// Makes the same checks, without effect.
void check_log_level(std::string_view text, std::string_view where = {});

/// Logs that there was no memory for a line. Does not throw: the report of a failure must not fail itself.
void log_unsayable(LogType type, LogLevel level) noexcept;

/// Does the work of log(), compiled once.
void log_formatted(LogType type, LogLevel level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void log(LogType type, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    log_formatted(type, level, format, fmt::make_format_args(args...));
}

template <typename... Args>
void log_error(LogType type, fmt::format_string<Args...> format, Args&&... args) {
    log(type, LogLevel::error, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warning(LogType type, fmt::format_string<Args...> format, Args&&... args) {
    log(type, LogLevel::warning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_notice(LogType type, fmt::format_string<Args...> format, Args&&... args) {
    log(type, LogLevel::notice, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(LogType type, fmt::format_string<Args...> format, Args&&... args) {
    log(type, LogLevel::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_debug(LogType type, fmt::format_string<Args...> format, Args&&... args) {
    log(type, LogLevel::debug, format, std::forward<Args>(args)...);
}

/// Lets at most `lines` through per `interval_s`, so that events from outside cannot flood the log. One per
/// kind of event, usually a static or a member. Thread-safe.
class LogLimiter {
  public:
    explicit LogLimiter(unsigned lines = 5, double interval_s = 10.0)
        : lines_(lines), interval_s_(interval_s) {}

    struct Verdict {
        bool pass = false;
        std::uint64_t suppressed = 0;  ///< lines held back since the last one that passed; 0 unless pass
    };
    /// Asks for one line. `now_s`: seconds on any monotonic clock.
    Verdict ask(double now_s);
    Verdict ask();

    /// Ends a flood: lines were held back, and none came in a whole interval. Returns once how many were held
    /// back since the last one that passed; else 0. Call it regularly.
    std::uint64_t settle(double now_s);
    std::uint64_t settle();

  private:
    std::mutex mutex_;
    unsigned lines_;
    double interval_s_;
    double window_start_ = -1e300;
    double last_asked_ = -1e300;
    unsigned passed_ = 0;
    std::uint64_t suppressed_ = 0;
};

/// Does as log(), but through a limiter; says how many lines were held back before this one.
template <typename... Args>
void log_limited(LogLimiter& limiter, LogType type, LogLevel level, fmt::format_string<Args...> format,
                 Args&&... args) {
    if (!log_enabled(type, level))
        return;
    const LogLimiter::Verdict verdict = limiter.ask();
    if (!verdict.pass)
        return;
    try {
        std::string text = fmt::format(format, std::forward<Args>(args)...);
        if (verdict.suppressed > 0)
            text += fmt::format(" ({} not shown)", counted(verdict.suppressed, "similar lines"));
        log_text(type, level, text);
    } catch (const std::bad_alloc&) {
        log_unsayable(type, level);
    }
}

/// Logs once, after a flood that log_limited() cut short, how many of its lines were never shown. `what` is
/// their subject, as in "port p0: its link".
inline void log_settled(LogLimiter& limiter, LogType type, LogLevel level, std::string_view what) {
    if (const std::uint64_t held_back = limiter.settle(); held_back > 0 && log_enabled(type, level))
        log_text(
            type, level,
            fmt::format("{}: {} not shown; it is quiet now", what, counted_were(held_back, "similar lines")));
}

}  // namespace spead
