// SPDX-License-Identifier: BSD-3-Clause
#include "app/report_file.hpp"

#include <fstream>

#include <fmt/format.h>

#include "base/error.hpp"

namespace spead::app {

void write_file(const std::string& path, const std::string& text) {
    if (path == "-") {
        fmt::print("{}\n", text);
    } else if (!(std::ofstream(path) << text << '\n' << std::flush)) {
        throw_error(path, "cannot write the results");
    }
}

void check_writable(const std::string& path) {
    if (!path.empty() && path != "-" && !std::ofstream(path, std::ios::app))
        throw_error(path, "cannot write the report here");
}

}  // namespace spead::app
