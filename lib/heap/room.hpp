// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// How much room heaps need: the bounds that the plan is checked against, and that the lcore keeps to.
namespace spead::heap {

/// Packets that are accepted between two commits at most.
inline constexpr std::size_t kMaxBatch = 64;
/// While bursts are full, ended heaps are handed over when so many wait, or after so many bursts.
inline constexpr std::uint32_t kHandOverAt = 32;
inline constexpr std::uint16_t kHandOverEvery = 4;

/// Heaps that can be there besides the live ones when ended heaps are handed over, of `packets` packets each:
/// fewer than kHandOverAt had ended before the last burst, and each packet of a burst begins one heap at
/// most.
constexpr std::size_t begun_between_hand_overs(std::uint32_t packets) noexcept {
    return std::min<std::size_t>(kHandOverAt - 1 + kMaxBatch,
                                 1 + kHandOverEvery * kMaxBatch / std::max(packets, std::uint32_t{1}));
}

/// Bytes for `live` heaps in blocks of `block` bytes, one that begins before the oldest of them has gone, and
/// `more`. A stream that can wait loses nothing when it has so much: whatever is not live comes back, and
/// then there is a free block, however the others lie, since each is aligned to its size.
constexpr std::size_t room_for(std::size_t live, std::size_t block, std::size_t more = 0) noexcept {
    return (live + 1 + more) * block;
}

}  // namespace spead::heap
