// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include <rte_log.h>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace spead {

namespace {

constexpr std::size_t kLogTypes = static_cast<std::size_t>(LogType::count_);

constexpr std::array<const char*, kLogTypes> kTypeNames{"spead.app",  "spead.config", "spead.runtime",
                                                        "spead.port", "spead.driver", "spead.recv",
                                                        "spead.send", "spead.memory", "spead.heap"};

std::array<int, kLogTypes>& type_ids() {
    // Not a constructor function: another static object's constructor may log before it would run.
    static std::array<int, kLogTypes> ids = [] {
        std::array<int, kLogTypes> made{};
        for (std::size_t i = 0; i < kLogTypes; i++) {
            const int id = rte_log_register_type_and_pick_level(kTypeNames[i], RTE_LOG_NOTICE);
            made[i] = id < 0 ? RTE_LOGTYPE_USER1 : id;
        }
        return made;
    }();
    return ids;
}

/// Registers the types at load time as well, so that EAL's --log-level finds them by name.
[[maybe_unused]] const bool registered_early = (type_ids(), true);

constexpr std::array<std::string_view, 5> kLevelNames{"error", "warning", "notice", "info", "debug"};

std::optional<std::uint32_t> level_of(std::string_view name) {
    for (std::size_t i = 0; i < kLevelNames.size(); i++)
        if (kLevelNames[i] == name)
            return static_cast<std::uint32_t>(LogLevel::error) + static_cast<std::uint32_t>(i);
    return std::nullopt;
}

double now_in_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct LevelRule {
    std::string pattern;
    std::uint32_t level;
};

/// Calls `apply` for each part of "a;b;c", after checking it.
template <typename Apply>
void each_rule(std::string_view text, std::string_view where, Apply apply) {
    std::string_view rest = text;
    for (;;) {
        const std::size_t semicolon = rest.find(';');
        const std::string_view part = rest.substr(0, semicolon);
        const std::size_t colon = part.rfind(':');
        const bool has_pattern = colon != std::string_view::npos;
        const std::string_view name = has_pattern ? part.substr(colon + 1) : part;
        const auto level = level_of(name);
        if (!level)
            throw_usage(std::string(where),
                        "`{}` is not a log level{}; give {}, alone or after a pattern, as in `pmd.*:debug`",
                        name, hint(name, kLevelNames), list_of(kLevelNames));
        if (has_pattern && colon == 0)
            throw_usage(std::string(where),
                        "`{}` has no pattern before the colon; write `pmd.*:{}` or only `{}`", part, name,
                        name);
        apply(LevelRule{has_pattern ? std::string(part.substr(0, colon)) : "spead.*", *level});
        if (semicolon == std::string_view::npos)
            return;
        rest.remove_prefix(semicolon + 1);
    }
}

}  // namespace

bool log_enabled(LogType type, LogLevel level) noexcept {
    return rte_log_can_log(type_ids()[static_cast<std::size_t>(type)], static_cast<std::uint32_t>(level));
}

void log_text(LogType type, LogLevel level, std::string_view text) {
    const auto index = static_cast<std::size_t>(type);
    rte_log(static_cast<std::uint32_t>(level), static_cast<std::uint32_t>(type_ids()[index]), "%s: %s\n",
            kTypeNames[index], printable(text).c_str());
}

void log_formatted(LogType type, LogLevel level, fmt::string_view format, fmt::format_args args) {
    if (!log_enabled(type, level))
        return;
    try {
        log_text(type, level, fmt::vformat(format, args));
    } catch (const std::bad_alloc&) {
        log_unsayable(type, level);
    }
}

void log_unsayable(LogType type, LogLevel level) noexcept {
    const auto index = static_cast<std::size_t>(type);
    rte_log(static_cast<std::uint32_t>(level), static_cast<std::uint32_t>(type_ids()[index]),
            "%s: no memory is left to print the error\n", kTypeNames[index]);
}

void set_log_level(std::string_view text, std::string_view where) {
    type_ids();
    check_log_level(text, where);
    each_rule(text, where, [&](const LevelRule& rule) {
        if (rte_log_set_level_pattern(rule.pattern.c_str(), rule.level) < 0)
            throw_usage(std::string(where), "DPDK does not take the log pattern `{}`", rule.pattern);
    });
}

void check_log_level(std::string_view text, std::string_view where) {
    each_rule(text, where, [](const LevelRule&) {});
}

LogLimiter::Verdict LogLimiter::ask(double now_s) {
    const std::scoped_lock lock(mutex_);
    last_asked_ = now_s;
    if (now_s - window_start_ >= interval_s_) {
        window_start_ = now_s;
        passed_ = 0;
    }
    if (passed_ >= lines_) {
        suppressed_++;
        return {};
    }
    passed_++;
    const std::uint64_t held_back = suppressed_;
    suppressed_ = 0;
    return {true, held_back};
}

std::uint64_t LogLimiter::settle(double now_s) {
    const std::scoped_lock lock(mutex_);
    return suppressed_ == 0 || now_s - last_asked_ < interval_s_ ? 0 : std::exchange(suppressed_, 0);
}

LogLimiter::Verdict LogLimiter::ask() {
    return ask(now_in_seconds());
}

std::uint64_t LogLimiter::settle() {
    return settle(now_in_seconds());
}

}  // namespace spead
