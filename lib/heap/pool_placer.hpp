// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory/arena.hpp"

namespace spead::heap {

/// Holds the state of the arena that several placers share. Belongs to control code until its lcore runs,
/// then to that lcore alone: a read and a write elsewhere, even of the same value, undo the lcore's writes
/// meanwhile.
///
/// The reservation of a stream that can wait is met later, if necessary. Such streams lend each other the
/// memory that none of them uses. So one of them can have more live heaps than its reservation holds while
/// the others are idle.
class Reservations {
  public:
    explicit Reservations(std::size_t capacity) : free_(capacity) {}

    /// Reserves `bytes` for a placer, which is made with the same number. The reservation ends when that
    /// placer sets its quota to 0. All reservations together are at most the capacity.
    void reserve(std::size_t bytes) noexcept { reserved_ += bytes; }

  private:
    friend class PoolPlacer;

    std::size_t free_;          ///< bytes no placer has taken
    std::size_t reserved_ = 0;  ///< of them, reserved for placers below their quota
    std::size_t can_wait_ = 0;  ///< of promised_: reserved for placers of streams that can wait
};

/// Places heaps in contiguous blocks of an arena, within one stream's reservation. Several streams of one
/// lcore use one arena. The quota is a stream's guaranteed memory, so that a stream with a slow consumer does
/// not starve its neighbours. A stream may also use memory that is unreserved or that other streams do not
/// need.
///
/// It never touches the memory, which may be that of a device. A HeapPlacer replaces it where others decide
/// about the memory.
class PoolPlacer {
  public:
    PoolPlacer() = default;
    /// Takes the `arena`, which outlives the placer and belongs to the same lcore. `quota` limits the bytes
    /// of blocks in use.
    PoolPlacer(memory::Arena& arena, std::size_t quota) : arena_(&arena), quota_(quota) {}
    /// Takes `shares`, too: `quota` was reserved there. More than that may be in use if others have reserved
    /// less than is free.
    PoolPlacer(memory::Arena& arena, Reservations& reservations, std::size_t quota)
        : arena_(&arena), reservations_(&reservations), quota_(quota) {}

    /// Returns a block for `bytes`; empty when the arena has none, or when the rest is reserved for others.
    memory::Block place(std::size_t bytes) noexcept {
        const unsigned order = arena_->order_of(bytes);
        const std::size_t size = arena_->unit() << order;
        if (size > available()) [[unlikely]]
            return {};
        const memory::Block block = arena_->alloc(bytes, order);
        if (block) [[likely]] {
            set_out(out_ + size);
            most_out_ = std::max(most_out_, out_);
            most_lately_ = std::max(most_lately_, out_);
        }
        return block;
    }

    /// Returns the largest available block of at least `least` and at most `most` bytes.
    memory::Block place_between(std::size_t least, std::size_t most) noexcept {
        for (std::size_t bytes = most;; bytes /= 2) {
            if (bytes < least)
                bytes = least;
            if (const memory::Block block = place(arena_->class_size(bytes)); block || bytes == least)
                return block;
        }
    }

    void release(memory::Block block) noexcept { count_freed(free(block)); }
    /// Does the first part of release(). Returns the bytes for count_freed(), which many blocks may share.
    std::size_t free(memory::Block block) noexcept {
        arena_->free(block);
        return arena_->size_of(block);
    }
    void count_freed(std::size_t bytes) noexcept { set_out(out_ - bytes); }

    /// Sets the quota; blocks above it stay in use until they are released.
    void set_quota(std::size_t quota) noexcept {
        const std::size_t before = left(out_);
        quota_ = quota;
        change_reserved(before, left(out_));
    }

    /// Sets whether the stream can wait for memory, rather than lose packets. A placer without quota and
    /// blocks touches nothing shared: control code makes it while the lcore uses the others.
    void set_can_wait(bool can_wait) noexcept {
        const std::size_t reserved = left(out_);
        if (reservations_ != nullptr && can_wait != can_wait_ && reserved != 0)
            reservations_->can_wait_ += can_wait ? reserved : 0 - reserved;
        can_wait_ = can_wait;
    }

    memory::Block trim(memory::Block block, std::size_t bytes) noexcept {
        const std::size_t others = out_ - arena_->size_of(block);
        block = arena_->shrink(block, bytes);
        set_out(others + arena_->size_of(block));
        return block;
    }

    std::size_t capacity(memory::Block block) const noexcept { return arena_->size_of(block); }
    std::size_t out() const noexcept { return out_; }
    std::size_t quota() const noexcept { return quota_; }
    /// Returns the bytes that it may take now; the arena decides how they are cut.
    std::size_t available() const noexcept {
        if (reservations_ == nullptr)
            return left(out_);
        const std::size_t others =
            reservations_->reserved_ - (can_wait_ ? reservations_->can_wait_ : left(out_));
        return reservations_->free_ > others ? reservations_->free_ - others : 0;
    }
    /// Returns the most bytes of blocks that were in use at once.
    std::size_t most_out() const noexcept { return most_out_; }
    void forget_most_out() noexcept { most_out_ = out_; }
    /// Returns the most bytes of blocks that were in use at once since the last take_rotating(). Blocks that
    /// were freed last are placed first, so this is the memory that heaps rotate through.
    std::size_t rotating() const noexcept { return most_lately_; }
    std::size_t take_rotating() noexcept { return std::exchange(most_lately_, out_); }

  private:
    std::size_t left(std::size_t out) const noexcept { return out < quota_ ? quota_ - out : 0; }
    /// Changes a reservation, modulo 2^64.
    void change_reserved(std::size_t from, std::size_t to) noexcept {
        if (reservations_ == nullptr)
            return;
        reservations_->reserved_ += to - from;
        if (can_wait_)
            reservations_->can_wait_ += to - from;
    }
    void set_out(std::size_t out) noexcept {
        if (reservations_ != nullptr) {
            reservations_->free_ += out_ - out;  // modulo 2^64
            change_reserved(left(out_), left(out));
        }
        out_ = out;
    }

    memory::Arena* arena_ = nullptr;
    Reservations* reservations_ = nullptr;
    std::size_t quota_ = 0;
    std::size_t out_ = 0;
    std::size_t most_out_ = 0;
    std::size_t most_lately_ = 0;
    bool can_wait_ = false;
};

}  // namespace spead::heap
