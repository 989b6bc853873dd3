// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace spead::app {

/// Returns a relative name as seen from `directory` (empty: the process's own).
std::string file_from(const std::string& directory, const std::string& name);

/// Writes the file as a whole or not at all. Throws Error when the name exists and `replace` is false, and
/// when it cannot be written; then the old file is unchanged.
void save_file(const std::string& path, std::string_view text, bool replace);

}  // namespace spead::app
