// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/arena.hpp"

namespace spead::heap {

/// Placement of heaps in contiguous blocks of an arena, within one stream's share of it. Several streams of
/// one lcore draw on one arena; the quota keeps a stream whose consumer is slow from starving its neighbours.
///
/// The window asks through this interface only, so that chunks or device memory can take its place.
class PoolPlacer {
  public:
    PoolPlacer() = default;
    /// `arena` outlives the placer and belongs to the same lcore. `quota` bytes of blocks at most are out at
    /// once.
    PoolPlacer(memory::Arena& arena, std::size_t quota) : arena_(&arena), quota_(quota) {}

    /// A block for `bytes`; empty when the arena has none or the quota is used up.
    memory::Block place(std::size_t bytes) noexcept {
        if (out_ + arena_->class_size(bytes) > quota_) [[unlikely]]
            return {};
        const memory::Block block = arena_->alloc(bytes);
        if (block) [[likely]]
            out_ += arena_->size_of(block);
        return block;
    }

    /// The largest block that can be had of at least `least` and at most `most` bytes.
    memory::Block place_between(std::size_t least, std::size_t most) noexcept {
        for (std::size_t bytes = most;; bytes /= 2) {
            if (bytes < least)
                bytes = least;
            if (const memory::Block block = place(arena_->class_size(bytes)); block || bytes == least)
                return block;
        }
    }

    void release(memory::Block block) noexcept {
        out_ -= arena_->size_of(block);
        arena_->free(block);
    }

    memory::Block trim(memory::Block block, std::size_t bytes) noexcept {
        out_ -= arena_->size_of(block);
        block = arena_->shrink(block, bytes);
        out_ += arena_->size_of(block);
        return block;
    }

    std::size_t capacity(memory::Block block) const noexcept { return arena_->size_of(block); }
    std::size_t out() const noexcept { return out_; }
    std::size_t quota() const noexcept { return quota_; }
    void set_quota(std::size_t quota) noexcept { quota_ = quota; }

  private:
    memory::Arena* arena_ = nullptr;
    std::size_t quota_ = 0;
    std::size_t out_ = 0;
};

}  // namespace spead::heap
