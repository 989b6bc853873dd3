// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/file_use.hpp"

/// Writes reports and results to files.
namespace spead::observe {

/// Reserves a report's file against other uses in this process, during the life of the result. `option` is
/// the one that names the file ("--json"). Throws UsageError when it is in use already. Touches nothing.
[[nodiscard]] FileUse claim_report(const std::string& path, const std::string& option);

/// Checks at the start of a run that a report can be written at its end. Throws Error; makes no file.
void check_writable(const std::string& path);

/// Writes a line to `path`, as for --json: "-" is standard output. Throws Error when it cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace spead::observe
