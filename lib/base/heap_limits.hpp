// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// Limits the contents of one heap, whatever its packets hold: the window keeps to them, and senders should,
/// too.
namespace spead {

/// Limits the different item words, those of descriptors included.
inline constexpr std::uint32_t kMaxHeapItems = 8192;
/// Limits the ranges of bytes that arrived before earlier ones.
inline constexpr std::uint32_t kMaxHeapRanges = 8192;

}  // namespace spead
