// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace spead::memory {

/// Holds what copies to memory outside the cache took, in ns for each KiB; 0: not measured.
struct CopyTrial {
    double cached = 0;
    double streaming = 0;

    /// Holds how much longer cached stores must take: less is noise, and readers find streamed memory cold.
    static constexpr double kLeastGain = 1.2;
    bool streaming_pays() const noexcept { return streaming > 0 && cached >= kLeastGain * streaming; }
};

/// Copies packets of 4 KiB in turn to `bytes` of memory, with both kinds of stores by turns, and takes the
/// medians. `bytes` should be twice the cache. Takes 7 to 150 ms, most of it to touch the memory. Measures
/// nothing if there is no memory, or where no copy streams. Control code.
CopyTrial try_copies(std::size_t bytes) noexcept;

}  // namespace spead::memory
