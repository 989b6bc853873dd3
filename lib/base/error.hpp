// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/exceptions.hpp"

namespace spead {

/// Returns an exception's message for a user. Replaces that of std::bad_alloc, which explains nothing.
inline const char* reason_of(const std::exception& error) noexcept {
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr
               ? "no memory is left for it; give the process or its control group more, or lower [memory] "
                 "heaps"
               : error.what();
}

/// Does the work of throw_error and throw_usage, compiled once.
[[noreturn]] void throw_formatted_error(const std::string& where, fmt::string_view format,
                                        fmt::format_args args);
[[noreturn]] void throw_formatted_usage(const std::string& where, fmt::string_view format,
                                        fmt::format_args args);

/// Throws Error: throw_error("port p0", "cannot ... {}", x).
template <typename... Args>
[[noreturn]] void throw_error(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    throw_formatted_error(where, format, fmt::make_format_args(args...));
}

template <typename... Args>
[[noreturn]] void throw_usage(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    throw_formatted_usage(where, format, fmt::make_format_args(args...));
}

}  // namespace spead
