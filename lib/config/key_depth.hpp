// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spead::config {

/// Dotted keys have so many parts at most; those of a configuration have three.
inline constexpr std::size_t kMaxKeyParts = 16;

/// Returns where (byte of the text) a dotted key of TOML has more than kMaxKeyParts parts. Each part is a
/// table within a table, and a parser that bounds the depth of values need not bound theirs: a file of a
/// megabyte would be half a million tables deep, too many for functions that call themselves. Strings and
/// comments are passed over.
std::optional<std::size_t> too_deep_key(std::string_view text);

}  // namespace spead::config
