// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "memory/copy.hpp"

namespace spead::memory {

/// Says how the payload of a stream is copied. `automatic`: by the memory that it rotates through.
enum class CopySetting : std::uint8_t { automatic, cached, streaming };

/// Chooses the stores of an lcore's copies by the memory that its heaps rotate through. Memory that is used
/// again while it is in the cache is written there. Larger memory has left the cache by then. Writing there
/// would first read its lines from memory, and evict the packets that are still to be copied.
class StoresRule {
  public:
    static constexpr std::size_t kAlwaysCached = std::numeric_limits<std::size_t>::max();

    /// Makes the rule of an lcore that has `cached_up_to` bytes of cache for heaps.
    explicit StoresRule(std::size_t cached_up_to = kAlwaysCached) noexcept
        : limit_(cached_up_to), share_(cached_up_to) {}

    /// Tells it of all memory in rotation, and of the number of streams that it belongs to.
    void set_all(std::size_t bytes, std::size_t streams) noexcept {
        share_ = bytes <= limit_ ? limit_ : limit_ / streams;
    }
    /// Returns the stores for a stream that rotates through `bytes`. They change back only when it is less by
    /// a quarter, lest they change all the time.
    Stores choose(std::size_t bytes, Stores now) const noexcept {
        const std::size_t limit = now == Stores::streaming ? share_ - share_ / 4 : share_;
        return bytes > limit ? Stores::streaming : Stores::cached;
    }
    std::size_t cached_up_to() const noexcept { return limit_; }

  private:
    std::size_t limit_;
    std::size_t share_;
};

}  // namespace spead::memory
