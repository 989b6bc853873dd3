// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/mapping.hpp"
#include "memory/poison.hpp"

namespace spead::memory {

/// Describes a block of an Arena: power-of-two size, aligned to its size within the arena.
struct Block {
    static constexpr std::uint8_t kNone = 0xff;

    std::byte* base = nullptr;
    std::uint8_t order = kNone;  ///< size = arena.unit() << order

    explicit operator bool() const noexcept { return base != nullptr; }
};

/// Holds fixed memory for heaps, cut into power-of-two size classes as received lengths need them: a binary
/// buddy system. So any mix of heap sizes can use the whole budget and no size has to be known before.
/// Recently freed blocks wait, uncoalesced, in a short stack per class: in steady state alloc and free are a
/// pop and a push.
///
/// Constructed in control code; then alloc, free and shrink belong to one thread, the owning lcore. They
/// never allocate, never wait and take O(number of classes) at worst. Only an alloc that would otherwise fail
/// first empties the stacks (at most kStack blocks per class).
class Arena {
  public:
    static constexpr std::size_t kMinUnit = 256;
    static constexpr std::size_t kAlignment = 64;

    Arena() = default;
    /// Makes an arena. `bytes` is rounded up to a multiple of `largest` (itself rounded up to a power of
    /// two), so that at least one block of the largest class exists. Throws Error as Mapping does.
    Arena(std::size_t bytes, std::size_t largest);
    /// Makes an arena over memory of the caller, which outlives it. The arena neither reads nor writes the
    /// memory, so that may be memory of a device. `memory` begins at a multiple of kAlignment, and its length
    /// is one that capacity_for() returns.
    Arena(std::span<std::byte> memory, std::size_t largest);

    /// Returns `bytes` rounded up: the capacity of such an arena.
    static std::size_t capacity_for(std::size_t bytes, std::size_t largest) noexcept;

    /// Returns the size of the block for `bytes` in an arena of `capacity` bytes made for blocks of up to
    /// `largest`.
    static std::size_t block_for(std::size_t bytes, std::size_t capacity, std::size_t largest) noexcept;

    /// Returns a block of at least `bytes`; an empty Block when none is left or `bytes` exceeds the largest
    /// class. To use the whole class, ask for class_size(bytes): AddressSanitizer reports uses beyond
    /// `bytes`, and any use of a freed block.
    Block alloc(std::size_t bytes) noexcept { return alloc(bytes, order_of(bytes)); }
    /// Does alloc() for the class `order`, which is order_of(bytes).
    Block alloc(std::size_t bytes, unsigned order) noexcept {
        if (order >= orders_) [[unlikely]]
            return {};
        Stack& s = stacks_[order];
        if (s.count != 0) [[likely]] {
            in_use_ += unit_ << order;
            std::byte* const base = base_ + std::size_t{s.units[--s.count]} * unit_;
            unpoison(base, bytes);
            return {base, static_cast<std::uint8_t>(order)};
        }
        return alloc_slow(order, bytes);
    }

    /// Frees `block`, which is not empty, and was allocated here.
    void free(Block block) noexcept {
        in_use_ -= unit_ << block.order;
        poison(block.base, unit_ << block.order);
        Stack& s = stacks_[block.order];
        if (s.count < kStack) [[likely]] {
            s.units[s.count++] = unit_index(block);
            return;
        }
        release(unit_index(block), block.order);
    }

    /// Gives back the part of `block` that is not needed for `bytes`; the base stays.
    Block shrink(Block block, std::size_t bytes) noexcept;

    std::size_t size_of(Block block) const noexcept { return unit_ << block.order; }
    /// Returns the class for `bytes`: of blocks of unit() << order.
    unsigned order_of(std::size_t bytes) const noexcept {
        if (bytes <= unit_)
            return 0;
        return static_cast<unsigned>(std::bit_width((bytes - 1) >> unit_shift_));
    }
    /// Returns the size of the class for `bytes`.
    std::size_t class_size(std::size_t bytes) const noexcept { return unit_ << order_of(bytes); }
    std::size_t unit() const noexcept { return unit_; }
    std::size_t largest() const noexcept { return unit_ << (orders_ - 1); }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t in_use() const noexcept { return in_use_; }
    Mapping::Backing backing() const noexcept { return mapping_.backing(); }

  private:
    static constexpr unsigned kMaxOrders = 28;
    static constexpr unsigned kStack = 512;
    static constexpr std::uint32_t kEnd = 0xffffffff;
    static constexpr std::uint8_t kFreeBit = 0x80;

    struct Stack {
        std::uint32_t count = 0;
        std::array<std::uint32_t, kStack> units;
    };
    struct Links {
        std::uint32_t next;
        std::uint32_t previous;
    };

    std::uint32_t unit_index(Block block) const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(block.base - base_) >> unit_shift_);
    }
    void divide(std::span<std::byte> memory, std::size_t largest);
    Block alloc_slow(unsigned order, std::size_t bytes) noexcept;
    std::uint32_t take(unsigned order) noexcept;
    void release(std::uint32_t unit, unsigned order) noexcept;
    void empty_stacks() noexcept;
    void link(std::uint32_t unit, unsigned order) noexcept;
    void unlink(std::uint32_t unit, unsigned order) noexcept;

    std::byte* base_ = nullptr;
    std::size_t unit_ = kMinUnit;
    unsigned unit_shift_ = 8;
    unsigned orders_ = 0;
    std::size_t capacity_ = 0;
    std::size_t in_use_ = 0;
    std::array<std::uint32_t, kMaxOrders> heads_{};
    std::vector<Stack> stacks_;
    std::vector<Links> links_;
    std::vector<std::uint8_t> state_;  ///< per unit, at the first unit of a free block: kFreeBit | order
    Mapping mapping_;
};

}  // namespace spead::memory
