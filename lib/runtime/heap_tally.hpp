// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace spead::runtime {

/// Counts what became of the heaps that were taken from one queue. Written by those who take them; read by
/// any thread.
class HeapTally {
  public:
    struct Done {
        std::uint64_t delivered = 0;  ///< the sink or the user has had them
        std::uint64_t unwritten = 0;  ///< the sink had failed, or failed with them; the user was gone
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
