// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// What one heap may have at most, whatever it is sent: the window keeps to it, senders should, too.
namespace spead {

/// Different item words, those of descriptors included.
inline constexpr std::uint32_t kMaxHeapItems = 8192;
/// Ranges of bytes that came ahead of those before them.
inline constexpr std::uint32_t kMaxHeapRanges = 8192;

}  // namespace spead
