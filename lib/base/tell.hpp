// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include <fmt/core.h>

namespace spead {

/// Does the work of tell(), compiled once.
void tell_formatted(std::FILE* to, fmt::string_view format, fmt::format_args args);

/// Prints for people. If the reader has gone (a closed pipe), nothing is thrown. Never waits long for
/// standard error (LineOutput).
template <typename... Args>
void tell(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
    tell_formatted(to, format, fmt::make_format_args(args...));
}

}  // namespace spead
