// SPDX-License-Identifier: BSD-3-Clause
#include "base/tell.hpp"

#include <string>

#include "base/line_output.hpp"

namespace spead {

void tell_formatted(std::FILE* to, fmt::string_view format, fmt::format_args args) {
    const std::string text = fmt::vformat(format, args);
    if (to == stderr)
        standard_error().put(text);
    else
        std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace spead
