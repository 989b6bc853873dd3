// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace spead {

/// Passes frames from a worker lcore to control code (IGMP, ARP, MLD, NDP): copies, in fixed memory.
///
/// One thread on each side. The lcore never waits: it counts frames without room.
class FrameRing {
  public:
    static constexpr std::size_t kFrames = 32;
    static constexpr std::size_t kFrameBytes = 1536;  ///< any frame of an ordinary link, with tags

    /// Returns the place for a frame of `length` bytes before commit(); null when it is too long or the ring
    /// is full. On the lcore.
    std::uint8_t* reserve(std::size_t length) noexcept {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (length > kFrameBytes || tail - head_.load(std::memory_order_acquire) == kFrames)
            return nullptr;
        Slot& slot = slots_[tail % kFrames];
        slot.length = static_cast<std::uint32_t>(length);
        return slot.bytes.data();
    }
    void commit() noexcept {
        tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    /// Gives each waiting frame to `use`, as a span that lasts as long as the call. In control code.
    template <typename Use>
    void take_all(Use&& use) {
        std::uint32_t head = head_.load(std::memory_order_relaxed);
        const std::uint32_t tail = tail_.load(std::memory_order_acquire);
        while (head != tail) {
            const Slot& slot = slots_[head % kFrames];
            use(std::span<const std::uint8_t>(slot.bytes.data(), slot.length));
            head_.store(++head, std::memory_order_release);
        }
    }

  private:
    struct Slot {
        std::uint32_t length = 0;
        std::array<std::uint8_t, kFrameBytes> bytes;
    };

    alignas(64) std::atomic<std::uint32_t> tail_{0};
    alignas(64) std::atomic<std::uint32_t> head_{0};
    alignas(64) std::array<Slot, kFrames> slots_;
};

}  // namespace spead
