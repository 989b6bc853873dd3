// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

/// Finds the nearest of the known words, for "did you mean" in errors.
namespace spead {

/// Returns the known word with the smallest edit distance (insertions, deletions, replacements, swaps of
/// neighbours) to `word`, or an empty view when none is near enough. Treats `-` and `_` as equal and ignores
/// case.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// Returns " (did you mean `queue_depth`?)" or an empty string.
std::string hint(std::string_view word, std::span<const std::string_view> known);

/// Returns "a, b or c".
std::string list_of(std::span<const std::string_view> words);

}  // namespace spead
