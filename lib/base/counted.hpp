// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Tells counts in words.
namespace spead {

/// Returns "1 heap", "2 heaps" for `plural` "heaps". A single one loses the `s` at the end.
std::string counted(std::uint64_t count, std::string_view plural);

/// Returns "1 heap was", "2 heaps were".
std::string counted_were(std::uint64_t count, std::string_view plural);

/// Returns the noun alone: "heap", "heaps".
constexpr std::string_view noun_for(std::uint64_t count, std::string_view plural) noexcept {
    return count == 1 && plural.ends_with('s') ? plural.substr(0, plural.size() - 1) : plural;
}

/// Returns the word that goes with the count, as in word_for(count, "was", "were").
constexpr std::string_view word_for(std::uint64_t count, std::string_view one,
                                    std::string_view several) noexcept {
    return count == 1 ? one : several;
}

}  // namespace spead
