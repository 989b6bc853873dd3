// SPDX-License-Identifier: BSD-3-Clause
#include "heap/key_table.hpp"

#include <algorithm>

namespace spead::heap {

namespace {

/// Returns whether the multiplier spreads counts that rise by a constant step. Such counts take lines at
/// constant distances around the table. With an unlucky multiplier a few steps lead back to nearly the same
/// line, and a process in a hundred would probe through dozens of entries. Tests the steps that senders use:
/// 1 (one stream for each endpoint), and the number of endpoints that heaps are distributed to.
bool spreads_even_steps(std::uint64_t multiplier, std::size_t lines) {
    constexpr std::uint64_t kSteps = 16;
    const std::uint64_t line = ~std::uint64_t{0} / lines;
    for (std::uint64_t step = 1; step <= kSteps; step++) {
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < lines / 8; i++) {
            at += step * multiplier;
            if (std::min(at, 0 - at) < line)
                return false;
        }
    }
    return true;
}

/// Returns the next number of the splitmix64 generator.
std::uint64_t next_random(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

std::uint64_t choose_multiplier(std::uint64_t secret, std::size_t lines) {
    constexpr int kTries = 64;  // two are usual
    std::uint64_t multiplier = secret | 1;
    for (int i = 0; i < kTries && !spreads_even_steps(multiplier, lines); i++)
        multiplier = next_random(secret) | 1;
    return multiplier;
}

}  // namespace

KeyTable::KeyTable(std::size_t keys, std::uint64_t secret)
    : lines_(entries_for(keys) / 4),
      entries_(lines_.front().entries.data()),
      mask_(lines_.size() * 4 - 1),
      multiplier_(choose_multiplier(secret, lines_.size())),
      shift_(64U - static_cast<unsigned>(std::countr_zero(lines_.size()))) {}

std::size_t KeyTable::longest_probe() const noexcept {
    std::size_t longest = 0;
    for (std::size_t i = 0; i <= mask_; i++)
        if (entries_[i].state != State::empty)
            longest = std::max(longest, distance_from_home(i));
    return longest;
}

}  // namespace spead::heap
