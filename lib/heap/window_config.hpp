// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/outcome.hpp"
#include "heap/books.hpp"

/// Configures the window of live heaps.
namespace spead::heap {

enum class FullPolicy : std::uint8_t { drop_newest, drop_oldest, block };

struct WindowConfig {
    static constexpr std::uint32_t kLeastHistory = 64;

    std::uint32_t substreams = 1;  ///< at least 1; heap count modulo this picks an independent window
    /// Limits the live heaps per substream, at least 1. A heap is evicted when this many newer ones have
    /// begun, whether or not there was room for those, and whether or not they are still live.
    std::uint32_t max_live = 4;
    /// Requires that these have proved to be heaps (window_admission.cpp): packets with forged heap counts
    /// evict no others. Until then a few more than max_live are live.
    bool guarded = false;
    std::uint64_t max_heap_bytes = std::uint64_t{64} << 20;  ///< at most kMaxHeapBytes
    /// Limits the heap counts remembered per substream, of ended and of refused heaps; kLeastHistory at
    /// least. 0: of heaps only that were refused, or given up by their user, because their later packets must
    /// not start them in the middle. Their first packet starts them anew where it is known: with in_order,
    /// and in the buffers of others.
    std::uint32_t history = 1024;
    std::uint64_t history_ticks = 0;  ///< how long they are remembered; 0: until newer ones replace them
    std::uint64_t timeout_ticks = 0;  ///< time without a packet after which a heap is given up; 0: never
    bool in_order = false;
    bool stop_on_stop_item = false;
    /// Delivers heaps that carry only stream control, like others: their packets count as `placed`. false:
    /// their packets count as `control`, and they are no heaps.
    bool control_heaps = false;
    FullPolicy on_full = FullPolicy::drop_newest;
    /// Counts packets that bring nothing new as `redundant`, and not as `duplicate`: they come by two paths.
    bool redundant = false;
    /// Consumers keep heaps for as long as they like, and may need the next one to give the last one back. So
    /// a window that may not lose heaps hands each over, whatever room it leaves. The arena is this window's
    /// alone.
    bool lends = false;
    /// Limits the memory for item words and ranges that records have no room for; 0: in proportion to the
    /// heaps.
    std::size_t books_bytes = 0;
    /// Adds records for ended heaps whose copies an engine has not made yet (Window::copied_by).
    std::uint32_t copying = 0;

    /// Limits the heaps per substream that may be live while it is in doubt whether newer ones are heaps.
    static constexpr std::uint32_t kDoubtful = 32;
    std::uint32_t places() const noexcept { return max_live + (guarded ? kDoubtful : 0); }
    std::size_t live_capacity() const noexcept { return std::size_t{substreams} * max_live; }
    /// Returns the outcome of a packet that brings nothing new.
    PacketOutcome repeated() const noexcept {
        return redundant ? PacketOutcome::redundant : PacketOutcome::duplicate;
    }
    /// Returns the bytes of the books of a window with so many records.
    std::size_t books(std::size_t records) const noexcept {
        return books_bytes != 0 ? books_bytes : Books::bytes_for(live_capacity(), records);
    }
};

}  // namespace spead::heap
