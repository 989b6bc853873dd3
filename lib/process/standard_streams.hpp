// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

/// Standard input, output and error, as they are handed to the process.
namespace spead::process {

/// Opens /dev/null in place of those that are closed. A socket or a file of the program would otherwise take
/// the number and get what is printed. Before anything else is opened.
void fill_standard_descriptors() noexcept;

/// Writes out what standard output still holds. Returns why it has not taken all that was printed, as on a
/// full disk; none: it has, or its reader has gone, which is no fault.
std::optional<std::string> finish_standard_output();

}  // namespace spead::process
