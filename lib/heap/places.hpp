// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heap/record.hpp"

namespace spead::heap {

/// Holds the state of a heap in its substream's order: the heap while it is live, then how much of it had
/// arrived.
class Place {
  public:
    Place() = default;
    explicit Place(Record* live) noexcept : bits_(reinterpret_cast<std::uintptr_t>(live)) {}
    /// Notes that it ended with that many packets.
    Place(std::uint32_t packets, bool complete) noexcept
        : bits_(std::uint64_t{packets} << 2 | (complete ? 2U : 0U) | 1U) {}

    /// Returns the heap; null when it is not live any more, or never was.
    Record* live() const noexcept { return (bits_ & 1) != 0 ? nullptr : reinterpret_cast<Record*>(bits_); }
    /// Returns the packets of an ended heap: 0 if it never had memory.
    std::uint32_t packets() const noexcept { return static_cast<std::uint32_t>(bits_ >> 2); }
    bool complete() const noexcept { return (bits_ & 3) == 3; }

  private:
    std::uintptr_t bits_ = 0;  ///< of a pointer, whose lowest bits are 0; or packets << 2 | complete << 1 | 1
};

/// Numbers the heaps of a substream in the order in which they began: those from `oldest` on may be live.
/// Numbers are modulo 2^32.
class Places {
  public:
    /// Reserves room for `least` heaps from the oldest to the newest.
    explicit Places(std::size_t least)
        : ring_(std::bit_ceil(least)), mask_(static_cast<std::uint32_t>(ring_.size() - 1)) {}

    /// Returns the place of a number: begun - size() <= number < begun.
    Place& at(std::uint32_t number) noexcept { return ring_[number & mask_]; }
    std::uint32_t size() const noexcept { return mask_ + 1; }
    /// Returns the number of heaps from the oldest that may be live to the newest.
    std::uint32_t span() const noexcept { return begun - oldest; }

    std::uint32_t begun = 0;   ///< number of the heap that begins next
    std::uint32_t oldest = 0;  ///< no earlier one is live

  private:
    std::vector<Place> ring_;
    std::uint32_t mask_;
};

}  // namespace spead::heap
