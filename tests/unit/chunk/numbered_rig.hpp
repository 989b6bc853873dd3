// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/byte_order.hpp"
#include "tests/unit/chunk/tracked_rig.hpp"

namespace spead::chunk::test {

inline constexpr std::uint64_t kNumberedHeap = 16;  ///< bytes
inline constexpr std::uint64_t kNumberedHeaps = 4;  ///< of a chunk

/// Places heap n at n % 4 of chunk n / 4; an item says n. Heaps of another length are refused.
class Numbered final : public HeapMap {
  public:
    static inline constexpr std::uint64_t kItem = 0x1600;

    PacketOutcome find(const heap::PacketView& view, std::uint16_t, HeapSpot& spot) noexcept override {
        asked++;
        if (view.heap_length != kNumberedHeap && view.heap_length != heap::kUnknownLength)
            return PacketOutcome::bad_length;
        for (std::uint32_t i = 0; i < view.item_count; i++) {
            const std::uint64_t word = load_be64(view.items + std::size_t{i} * 8);
            if (word >> 40 != (std::uint64_t{1} << 23 | kItem))
                continue;
            const std::uint64_t n = word & ((std::uint64_t{1} << 40) - 1);
            if (n == 999'999)
                return PacketOutcome::out_of_range;
            extra_ = {std::byte{static_cast<std::uint8_t>(n)}, std::byte{static_cast<std::uint8_t>(n >> 8)}};
            const HeapSpot::Where where{static_cast<std::int64_t>(n / kNumberedHeaps), n % kNumberedHeaps,
                                        n % kNumberedHeaps * kNumberedHeap, n % kNumberedHeaps * 2};
            spot = {where, where, kNumberedHeap, extra_};
            return PacketOutcome::placed;
        }
        return PacketOutcome::no_item;
    }
    bool note(const heap::PacketView&, std::uint16_t) noexcept override { return false; }

    void keep() noexcept override { kept++; }

    std::uint64_t asked = 0;
    std::uint64_t kept = 0;

  private:
    std::array<std::byte, 2> extra_{};
};

/// Makes a packet of heap `n` with the item.
inline Packet telling(std::uint64_t n, std::uint64_t offset, std::size_t length, std::uint64_t key) {
    Packet p(key);
    p.of(kNumberedHeap).at(offset, length).items({immediate(Numbered::kItem, n)}).time(1);
    return p;
}
/// Makes one whose key is its number.
inline Packet telling(std::uint64_t n, std::uint64_t offset = 0, std::size_t length = 8) {
    return telling(n, offset, length, n);
}
/// Makes a packet of heap `n` without it.
inline Packet silent(std::uint64_t n, std::uint64_t offset = 8, std::size_t length = 8) {
    Packet p(n);
    p.of(kNumberedHeap).at(offset, length).time(1);
    return p;
}

/// Makes a lane that places heaps by their number.
struct NumberedRig : TrackedRig {
    explicit NumberedRig(const Sizes& sizes = {}, const heap::WindowConfig& heaps = tracked_window())
        : TrackedRig(map, small_layout(), kNumberedHeap, sizes, heaps) {}
    Numbered map;
};

}  // namespace spead::chunk::test
