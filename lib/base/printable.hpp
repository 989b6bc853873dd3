// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace spead {

/// Returns the text as a terminal, a log and JSON can show it: UTF-8 without control characters. Every byte
/// that is part of one, or of no character, becomes \xNN. Otherwise foreign names of files, keys and devices
/// could move the cursor.
std::string printable(std::string_view text);

}  // namespace spead
