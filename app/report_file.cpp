// SPDX-License-Identifier: BSD-3-Clause
#include "app/report_file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

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
    if (path.empty() || path == "-")
        return;
    const bool was_there = std::filesystem::exists(path);
    if (!std::ofstream(path, std::ios::app))
        throw_error(path, "cannot write the report here");
    // A start that fails leaves no empty report.
    std::error_code ignored;
    if (const auto made = std::filesystem::canonical(path, ignored); !was_there && !ignored)
        std::filesystem::remove(made, ignored);
}

}  // namespace spead::app
