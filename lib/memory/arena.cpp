// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena.hpp"

#include <algorithm>

namespace spead::memory {

std::size_t Arena::capacity_for(std::size_t bytes, std::size_t largest) noexcept {
    largest = std::bit_ceil(std::max(largest, kMinUnit));
    return (std::max(bytes, largest) + largest - 1) / largest * largest;
}

namespace {

/// Returns the unit, so that there are at most 4 Mi units: the bookkeeping stays below 1/20 of the memory it
/// describes.
std::size_t unit_for(std::size_t capacity, std::size_t largest) {
    return std::min(largest, std::max(Arena::kMinUnit, std::bit_ceil(capacity >> 22)));
}

}  // namespace

std::size_t Arena::block_for(std::size_t bytes, std::size_t capacity, std::size_t largest) noexcept {
    largest = std::bit_ceil(std::max(largest, kMinUnit));
    return std::max(unit_for(capacity, largest), std::bit_ceil(bytes));
}

Arena::Arena(std::size_t bytes, std::size_t largest) : mapping_(capacity_for(bytes, largest)) {
    divide({mapping_.base(), capacity_for(bytes, largest)}, largest);
    poison(mapping_.base(), mapping_.length());
}

Arena::Arena(std::span<std::byte> memory, std::size_t largest) {
    divide(memory, largest);
    poison(memory.data(), memory.size());
}

/// Makes everything free. The length of `memory` is a multiple of the largest block.
void Arena::divide(std::span<std::byte> memory, std::size_t largest) {
    const std::size_t bytes = memory.size();
    largest = std::bit_ceil(std::max(largest, kMinUnit));
    unit_ = unit_for(bytes, largest);
    unit_shift_ = static_cast<unsigned>(std::countr_zero(unit_));
    orders_ = static_cast<unsigned>(std::countr_zero(largest)) - unit_shift_ + 1;
    capacity_ = bytes;
    base_ = memory.data();

    const std::size_t units = bytes >> unit_shift_;
    stacks_.resize(orders_);
    links_.resize(units);
    state_.assign(units, 0);
    heads_.fill(kEnd);
    const std::size_t step = largest >> unit_shift_;
    for (std::size_t unit = units; unit != 0; unit -= step)
        link(static_cast<std::uint32_t>(unit - step), orders_ - 1);
}

void Arena::link(std::uint32_t unit, unsigned order) noexcept {
    const std::uint32_t head = heads_[order];
    links_[unit] = {head, kEnd};
    if (head != kEnd)
        links_[head].previous = unit;
    heads_[order] = unit;
    state_[unit] = static_cast<std::uint8_t>(kFreeBit | order);
}

void Arena::unlink(std::uint32_t unit, unsigned order) noexcept {
    const Links l = links_[unit];
    if (l.previous != kEnd)
        links_[l.previous].next = l.next;
    else
        heads_[order] = l.next;
    if (l.next != kEnd)
        links_[l.next].previous = l.previous;
    state_[unit] = 0;
}

std::uint32_t Arena::take(unsigned order) noexcept {
    unsigned from = order;
    while (from < orders_ && heads_[from] == kEnd)
        from++;
    if (from >= orders_)
        return kEnd;
    const std::uint32_t unit = heads_[from];
    unlink(unit, from);
    while (from > order) {
        from--;
        link(unit + (std::uint32_t{1} << from), from);
    }
    return unit;
}

Block Arena::alloc_slow(unsigned order, std::size_t bytes) noexcept {
    std::uint32_t unit = take(order);
    if (unit == kEnd) {
        empty_stacks();
        unit = take(order);
        if (unit == kEnd)
            return {};
    }
    in_use_ += unit_ << order;
    std::byte* const base = base_ + (std::size_t{unit} << unit_shift_);
    unpoison(base, bytes);
    return {base, static_cast<std::uint8_t>(order)};
}

void Arena::release(std::uint32_t unit, unsigned order) noexcept {
    while (order + 1 < orders_) {
        const std::uint32_t buddy = unit ^ (std::uint32_t{1} << order);
        if (state_[buddy] != (kFreeBit | order))
            break;
        unlink(buddy, order);
        unit = std::min(unit, buddy);
        order++;
    }
    link(unit, order);
}

void Arena::empty_stacks() noexcept {
    for (unsigned order = 0; order < orders_; order++) {
        Stack& s = stacks_[order];
        while (s.count != 0)
            release(s.units[--s.count], order);
    }
}

Block Arena::shrink(Block block, std::size_t bytes) noexcept {
    const unsigned wanted = order_of(bytes);
    const std::uint32_t unit = unit_index(block);
    if (bytes < size_of(block))
        poison(block.base + bytes, size_of(block) - bytes);
    while (block.order > wanted) {
        block.order--;
        in_use_ -= unit_ << block.order;
        release(unit + (std::uint32_t{1} << block.order), block.order);
    }
    return block;
}

}  // namespace spead::memory
