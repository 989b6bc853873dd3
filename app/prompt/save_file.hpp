// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace spead::app {

/// Returns a relative name as seen from `directory` (empty: the process's own).
std::string file_from(const std::string& directory, const std::string& name);

/// Limits the wait for a file system that does not answer. The end of the process may wait so long, too.
inline constexpr std::chrono::milliseconds kSavePatience{10'000};

/// Writes the file as a whole or not at all. Throws Error when the name exists and `replace` is false, and
/// when it cannot be written; then the old file is unchanged. Throws Error after `patience`, too, and the old
/// file stays, unless the new one was being put in its place. A thread that is left behind removes the draft.
void save_file(const std::string& path, std::string_view text, bool replace,
               std::chrono::milliseconds patience = kSavePatience);

}  // namespace spead::app
