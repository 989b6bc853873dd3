// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <fmt/core.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "base/error.hpp"

namespace spead::send {

/// Holds an rte_ring of values for one thread on each side, in EAL memory of its own: it uses no EAL name.
///
/// A value takes several ring elements of 16 bytes, which rte_ring copies with wide moves (it copies elements
/// of odd sizes by 4 bytes). Only whole values are enqueued, so only whole values are dequeued.
template <typename T>
class SpscRing {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 16 == 0);
    static constexpr unsigned kElement = 16;
    static constexpr unsigned kElements = sizeof(T) / kElement;

  public:
    /// Reserves room for at least `capacity` values. Throws Error when there is no memory.
    SpscRing(std::uint32_t capacity, int numa, const std::string& where) {
        ring_ = static_cast<rte_ring*>(
            rte_zmalloc_socket("send_ring", memory(capacity), RTE_CACHE_LINE_SIZE, numa));
        if (ring_ == nullptr ||
            rte_ring_init(ring_, "send", slots(capacity), RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
            rte_free(ring_);
            throw Error(
                where, fmt::format("no memory for a queue of {} heaps ({} KiB): give EAL more memory (-m) or "
                                   "lower max_heaps",
                                   capacity, memory(capacity) / 1024));
        }
    }
    ~SpscRing() { rte_free(ring_); }
    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;

    /// Returns the bytes of EAL memory.
    static std::size_t memory(std::uint32_t capacity) noexcept {
        return sizeof(rte_ring) + std::size_t{slots(capacity)} * kElement;
    }

    /// Pushes all of them or none.
    bool push(std::span<const T> values) noexcept {
        return rte_ring_enqueue_bulk_elem(ring_, values.data(), kElement, count(values.size()), nullptr) != 0;
    }
    /// Pops as many as there are and fit; returns how many.
    std::size_t pop(std::span<T> out) noexcept {
        return rte_ring_dequeue_burst_elem(ring_, out.data(), kElement, count(out.size()), nullptr) /
               kElements;
    }
    bool empty() const noexcept { return rte_ring_empty(ring_) != 0; }

  private:
    /// Returns the number of slots. A ring of 2^n slots holds 2^n - 1 elements.
    static unsigned slots(std::uint32_t capacity) noexcept {
        return static_cast<unsigned>(std::bit_ceil(std::uint64_t{capacity} * kElements + 1));
    }
    static unsigned count(std::size_t values) noexcept { return static_cast<unsigned>(values) * kElements; }

    rte_ring* ring_ = nullptr;
};

}  // namespace spead::send
