// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spead::capture {

/// Holds a part of a capture's buffer with whole records in it.
struct Block {
    std::byte* data = nullptr;
    std::uint32_t used = 0;     ///< bytes
    std::uint32_t packets = 0;  ///< records
};

/// Passes blocks from one thread to one other. Neither side ever waits for the other.
class BlockRing {
  public:
    /// Makes a ring that is never full as long as there are at most `blocks` blocks.
    explicit BlockRing(std::size_t blocks) : slots_(std::bit_ceil(blocks)), mask_(slots_.size() - 1) {}

    void push(Block* block) noexcept {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        slots_[tail & mask_] = block;
        tail_.store(tail + 1, std::memory_order_release);
    }
    /// Takes the next block; null when there is none.
    Block* pop() noexcept {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire))
            return nullptr;
        Block* const block = slots_[head & mask_];
        head_.store(head + 1, std::memory_order_release);
        return block;
    }
    /// Returns the blocks in it; for the side that pushes it is an upper limit.
    std::size_t size() const noexcept {
        return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire);
    }

  private:
    std::vector<Block*> slots_;
    std::size_t mask_;
    alignas(64) std::atomic<std::size_t> tail_{0};
    alignas(64) std::atomic<std::size_t> head_{0};
};

}  // namespace spead::capture
