// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/line_output.hpp"

namespace spead {

/// Prints for people. If the reader has gone (a closed pipe), nothing is thrown. Never waits long for
/// standard error (LineOutput).
template <typename... Args>
void tell(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (to == stderr)
        standard_error().put(text);
    else
        std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace spead
