// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace spead::memory {

/// Holds how copies went on this machine, in ns for each KiB; 0: not measured.
struct CopyTrial {
    double cached = 0;  ///< to memory outside the cache
    double streaming = 0;
    double share = 1;  ///< part of the share of the cache in which cached stores suit

    /// Holds how much longer cached stores must take: less is noise, and readers find streamed memory cold.
    static constexpr double kLeastGain = 1.2;
    bool streaming_pays() const noexcept { return streaming > 0 && cached >= kLeastGain * streaming; }
};

/// Copies packets of 4 KiB, `share` bytes of them, in turn to `outside` bytes of memory, with both kinds of
/// stores by turns, and takes the least times. `outside` should be twice the cache. A time is that of all
/// this memory: lines in the cache are written back later, with those of other parts. A single part showed no
/// gain, where the lcore's heaps in turn took 1.8 times as long (Zen 4). Then finds how much of
/// `share` bytes suits cached stores, by halves: another machine on the same processor may have the rest of
/// the cache. A start took 0.07 s with it, where it had taken 0.03 s with single parts. Measures nothing if
/// there is no memory, or where no copy streams. Control code.
CopyTrial try_copies(std::size_t outside, std::size_t share) noexcept;

}  // namespace spead::memory
