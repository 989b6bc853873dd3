// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Computes the memory that heaps need: the limits that the plan is checked against, and that the lcore keeps
/// to.
namespace spead::heap {

/// Limits the packets that are accepted between two commits.
inline constexpr std::size_t kMaxBatch = 64;
/// Holds how many ended heaps, or bursts, trigger a hand-over while bursts are full.
inline constexpr std::uint32_t kHandOverAt = 32;
inline constexpr std::uint16_t kHandOverEvery = 4;

/// Returns how many heaps can exist besides the live ones when ended heaps of `packets` packets each are
/// handed over. Fewer than kHandOverAt had ended before the last burst, and each packet of a burst begins one
/// heap at most.
constexpr std::size_t begun_between_hand_overs(std::uint32_t packets) noexcept {
    return std::min<std::size_t>(kHandOverAt - 1 + kMaxBatch,
                                 1 + kHandOverEvery * kMaxBatch / std::max(packets, std::uint32_t{1}));
}

/// Returns the bytes for `live` heaps in blocks of `block` bytes, one that begins before the oldest of them
/// has gone, and `more`. With so much memory a stream that can wait loses nothing. All other heaps come back,
/// and then there is a free block, however the others lie, since each is aligned to its size.
constexpr std::size_t room_for(std::size_t live, std::size_t block, std::size_t more = 0) noexcept {
    return (live + 1 + more) * block;
}

}  // namespace spead::heap
