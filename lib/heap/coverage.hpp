// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/heap_limits.hpp"

namespace spead::heap {

/// Holds a half-open range of heap bytes. Heaps are smaller than 4 GiB (kMaxHeapBytes), so 32 bits do.
struct Range {
    std::uint32_t begin;
    std::uint32_t end;
    bool operator==(const Range&) const = default;
};

inline constexpr std::uint64_t kMaxHeapBytes = std::uint64_t{2} << 30;
/// Limits the ranges of one heap after its prefix.
inline constexpr std::uint32_t kMaxRanges = kMaxHeapRanges;

enum class Cover : std::uint8_t {
    added,
    known,    ///< all bytes had arrived already
    partial,  ///< some bytes had arrived already, others not
    full,     ///< needs one range more than there is room for
};

/// Holds which bytes of a heap have arrived: everything before `prefix`, and the sorted, disjoint,
/// non-touching ranges after it. The range array belongs to the caller, who may move it to a larger one after
/// `full`.
class Coverage {
  public:
    void reset(Range* ranges, std::uint32_t capacity) noexcept {
        prefix_ = 0;
        received_ = 0;
        count_ = 0;
        capacity_ = capacity;
        ranges_ = ranges;
    }

    /// Restarts with [0, end) and nothing else, in the array that it has.
    void restart(std::uint64_t end) noexcept {
        prefix_ = received_ = end;
        count_ = 0;
    }

    /// Adds [begin, end), begin < end <= kMaxHeapBytes. Changes nothing unless the result is `added`.
    Cover add(std::uint64_t begin, std::uint64_t end) noexcept {
        if (begin == prefix_ && count_ == 0) [[likely]] {
            prefix_ = end;
            received_ += end - begin;
            return Cover::added;
        }
        return add_out_of_order(begin, end);
    }

    /// Returns whether nothing is missing before `begin`, and nothing has arrived from it on.
    bool is_next(std::uint64_t begin) const noexcept { return begin == prefix_ && count_ == 0; }
    /// Does add(prefix(), end) when is_next(prefix()).
    void advance(std::uint64_t end) noexcept {
        received_ += end - prefix_;
        prefix_ = end;
    }

    /// Returns the result that add() would have.
    Cover test(std::uint64_t begin, std::uint64_t end) const noexcept;

    /// Moves to a larger array of the caller's; the content is copied.
    void move_to(Range* ranges, std::uint32_t capacity) noexcept;

    std::uint64_t prefix() const noexcept { return prefix_; }
    std::uint64_t received() const noexcept { return received_; }
    std::span<const Range> ranges() const noexcept { return {ranges_, count_}; }
    std::uint32_t capacity() const noexcept { return capacity_; }
    /// Returns one past the last byte that has arrived.
    std::uint64_t extent() const noexcept { return count_ == 0 ? prefix_ : ranges_[count_ - 1].end; }

  private:
    Cover add_out_of_order(std::uint64_t begin, std::uint64_t end) noexcept;

    std::uint64_t prefix_;
    std::uint64_t received_;
    std::uint32_t count_;
    std::uint32_t capacity_;
    Range* ranges_;
};

}  // namespace spead::heap
