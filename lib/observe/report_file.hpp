// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/file_use.hpp"

/// Where reports and results go.
namespace spead::observe {

/// Keeps a report's file from being read or written otherwise in this process, for as long as the use lives;
/// `option` is what names the file ("--json"). Throws UsageError when it is in use already. Touches nothing.
[[nodiscard]] FileUse claim_report(const std::string& path, const std::string& option);

/// A report that cannot be written at the end of a long run is known at its start. Throws Error; makes no
/// file.
void check_writable(const std::string& path);

/// Writes a line to `path`, as for --json: "-" is standard output. Throws Error when it cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace spead::observe
