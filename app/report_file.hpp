// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

/// Where reports and results go.
namespace spead::app {

/// A line to `path`, as for --json: "-" is standard output. Throws Error when it cannot be written.
void write_file(const std::string& path, const std::string& text);

/// A report that cannot be written at the end of a long run is known at its start. Throws Error; makes no
/// file.
void check_writable(const std::string& path);

}  // namespace spead::app
