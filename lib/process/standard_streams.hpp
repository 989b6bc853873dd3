// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

/// Prepares and finishes the standard input, output and error of the process.
namespace spead::process {

/// Opens /dev/null for those that are closed. A socket or a file of the program would otherwise get the
/// number, and the printed output. Call it before anything else is opened.
void fill_standard_descriptors() noexcept;

/// Flushes standard output. Returns the error if not all output could be written, as on a full disk. Returns
/// none if it could, or if its reader has gone, which is no error.
std::optional<std::string> finish_standard_output();

}  // namespace spead::process
