// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

/// "Did you mean": the nearest of the known words, for error messages.
namespace spead {

/// The known word with the smallest edit distance (insertions, deletions, replacements, swaps of neighbours)
/// to `word`, or an empty view when none is near enough to be what was meant. `-` and `_` are the same,
/// letters' case does not matter.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// " (did you mean `queue_depth`?)" or an empty string.
std::string hint(std::string_view word, std::span<const std::string_view> known);

/// "a, b or c".
std::string list_of(std::span<const std::string_view> words);

}  // namespace spead
