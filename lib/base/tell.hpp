// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include <fmt/core.h>

namespace spead {

/// What tell() does, compiled once.
void tell_formatted(std::FILE* to, fmt::string_view format, fmt::format_args args);

/// Prints for people. A reader that has gone (a closed pipe) is no reason to end: nothing is thrown. Standard
/// error is never waited for long (LineOutput).
template <typename... Args>
void tell(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
    tell_formatted(to, format, fmt::make_format_args(args...));
}

}  // namespace spead
