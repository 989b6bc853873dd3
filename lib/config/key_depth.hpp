// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spead::config {

/// Limits the parts of a dotted key; those of a configuration have three.
inline constexpr std::size_t kMaxKeyParts = 16;

/// Returns the offset in bytes of a dotted TOML key with more than kMaxKeyParts parts. Each part is a table
/// within a table, and a parser that limits the depth of values may not limit theirs. A file of a megabyte
/// could be half a million tables deep, too many for recursive functions. Skips strings and comments.
std::optional<std::size_t> too_deep_key(std::string_view text);

}  // namespace spead::config
