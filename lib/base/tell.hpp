// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/line_output.hpp"

namespace spead {

/// Prints for people. A reader that has gone (a closed pipe) is no reason to end: nothing is thrown. Standard
/// error is never waited for long (LineOutput).
template <typename... Args>
void tell(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (to == stderr)
        standard_error().put(text);
    else
        std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace spead
