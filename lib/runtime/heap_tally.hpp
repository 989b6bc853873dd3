// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace spead::runtime {

/// Counts the heaps that were taken from one queue, by their outcome. Written by the threads that take them,
/// and those of their sinks; any thread reads it.
class HeapTally {
  public:
    struct Done {
        std::uint64_t delivered = 0;  ///< given to the sink or the user
        std::uint64_t unwritten = 0;  ///< the sink had failed, or failed with them, or the user had gone
        std::uint64_t all() const noexcept { return delivered + unwritten; }
    };

    Done done() const noexcept {
        return {delivered_.load(std::memory_order_acquire), unwritten_.load(std::memory_order_acquire)};
    }

  protected:
    HeapTally() = default;
    ~HeapTally() = default;

    std::atomic<std::uint64_t> delivered_{0};
    std::atomic<std::uint64_t> unwritten_{0};
};

}  // namespace spead::runtime
