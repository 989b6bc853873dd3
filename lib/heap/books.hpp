// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "memory/arena.hpp"

namespace spead::heap {

/// Holds the item words and ranges of heaps that have more of them than a record holds. It is ordinary memory
/// of the window: payload memory may be memory that the CPU must not touch. Belongs to the owning lcore.
class Books {
  public:
    /// Returns the bytes for a window. They suffice for `live` heaps with as many items and ranges as a heap
    /// may have, up to kFull of them. Besides, each of `records` heaps may have a few more than its record
    /// holds.
    static std::size_t bytes_for(std::size_t live, std::size_t records) noexcept;
    /// Takes the bytes, which are rounded up. Control code. May throw std::bad_alloc.
    explicit Books(std::size_t bytes);
    ~Books();
    Books(const Books&) = delete;
    Books& operator=(const Books&) = delete;

    /// Returns a block of at least `bytes`; empty when there is none.
    memory::Block take(std::size_t bytes) noexcept { return arena_.alloc(bytes); }
    void give_back(memory::Block block) noexcept { arena_.free(block); }
    std::size_t size_of(memory::Block block) const noexcept { return arena_.size_of(block); }
    std::size_t capacity() const noexcept { return arena_.capacity(); }
    std::size_t in_use() const noexcept { return arena_.in_use(); }

    /// Limits the heaps that may have full books at the same time.
    static constexpr std::size_t kFull = 4;

  private:
    struct alignas(memory::Arena::kAlignment) Line {
        std::array<std::byte, memory::Arena::kAlignment> bytes;
    };

    std::vector<Line> memory_;
    memory::Arena arena_;
};

}  // namespace spead::heap
