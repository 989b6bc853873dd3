// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "recv/packet_filter.hpp"

namespace spead::recv {

class HeldPackets;

/// Holds a packet that its port cannot reuse yet: one reference to its buffer. Copies share it. When the last
/// one is destroyed or reset, on any thread, the buffer goes back to the lcore that lent it, which frees it.
/// So no other thread ever touches a pool or an lcore's cache of it. It may outlive the stream.
class HeldPacket {
  public:
    HeldPacket() = default;
    HeldPacket(const HeldPacket& other) noexcept;
    HeldPacket(HeldPacket&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    HeldPacket& operator=(HeldPacket other) noexcept {
        std::swap(slot_, other.slot_);
        return *this;
    }
    ~HeldPacket() { reset(); }

    explicit operator bool() const noexcept { return slot_ != nullptr; }
    /// Returns the packet; the handle must not be empty.
    const FilterPacket& operator*() const noexcept;
    const FilterPacket* operator->() const noexcept { return &**this; }
    /// Gives it back now.
    void reset() noexcept;

  private:
    friend class HeldPackets;
    struct Slot;
    explicit HeldPacket(Slot* slot) noexcept : slot_(slot) {}

    Slot* slot_ = nullptr;
};

/// Lends the buffers of one stream on one lcore: a limited number, in fixed memory. lend() and reclaim() are
/// for the owning lcore, or for the main thread once that has been joined. Nothing here locks or allocates
/// after make().
class HeldPackets : public std::enable_shared_from_this<HeldPackets> {
    struct Private {};

  public:
    /// Makes it for `most` buffers; a packet takes one for each of its segments.
    static std::shared_ptr<HeldPackets> make(std::uint32_t most);
    HeldPackets(Private, std::uint32_t most);
    /// Leaves unreclaimed packets allocated, since their pool may be gone.
    ~HeldPackets();

    /// Returns a handle to the packet, whose segments get one more reference; empty when too many are lent.
    HeldPacket lend(const FilterPacket& packet) noexcept;
    /// Frees the packets that were given back. Returns their number.
    std::uint32_t reclaim() noexcept;

    std::uint32_t most() const noexcept { return most_; }
    /// Returns the number of packets lent and not reclaimed.
    std::uint32_t packets_out() const noexcept { return packets_out_; }

  private:
    friend class HeldPacket;
    void give_back(HeldPacket::Slot* slot) noexcept;

    const std::uint32_t most_;
    std::uint32_t buffers_out_ = 0;
    std::uint32_t packets_out_ = 0;
    std::unique_ptr<HeldPacket::Slot[]> slots_;
    HeldPacket::Slot* free_ = nullptr;  ///< list
    /// Holds the packets that other threads have given back: they push, the lcore takes all.
    alignas(64) std::atomic<HeldPacket::Slot*> returned_{nullptr};
};

}  // namespace spead::recv
