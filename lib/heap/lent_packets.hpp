// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "heap/heap_handle.hpp"
#include "heap/record.hpp"

namespace spead::heap {

/// Holds the packets of one window's heaps that stay in the port's buffers instead of being copied: a limited
/// number, in fixed memory. A heap has its block of memory all the same. Bytes that are not lent lie there,
/// and gather() copies the others to it.
///
/// The lcore adds packets while a heap is live, and frees them when the heap's record comes back. Consumers
/// read the packets of heaps whose handles they hold. The queue and its way back are the only synchronisation
/// needed. Nothing here allocates after construction, except the list that segments() returns.
class LentPackets {
  public:
    /// Frees buffers, on the lcore or where the destructor runs.
    using Free = void (*)(void* const* buffers, std::size_t count);

    /// Makes it for `room` packets, of the heaps of a window with so many records (Window::records_needed).
    LentPackets(std::uint32_t room, std::size_t records, Free free);
    /// Frees all buffers. Neither the lcore nor a consumer uses them any more; on any thread.
    ~LentPackets();
    LentPackets(const LentPackets&) = delete;
    LentPackets& operator=(const LentPackets&) = delete;

    // Lcore side.

    /// Takes the window's first record, from which the others are numbered.
    void number_from(const Record* first) noexcept { first_ = first; }
    /// Keeps a placed packet. Returns false, and keeps nothing, when `most` are out, or when the rest of the
    /// heap is copied. `from`: its payload in `buffer`, for bytes [offset, offset + length) of the heap.
    bool keep(const Record& r, void* buffer, const std::byte* from, std::uint32_t offset,
              std::uint32_t length) noexcept;
    /// Decides that the heap's further packets are copied. Returns false when that was decided before.
    bool copy_rest(const Record& r) noexcept { return !std::exchange(chain_of(r).copied, true); }
    bool copies_rest(const Record& r) const noexcept { return chain_of(r).copied; }
    bool full() const noexcept { return out_ >= most_; }
    /// Frees the heap's buffers; its record is free from now on.
    void release(const Record& r) noexcept;
    /// Returns the packets that are lent.
    std::uint32_t out() const noexcept { return out_; }
    std::uint32_t most() const noexcept { return most_; }
    /// Sets how many packets may be lent: as many as there is room for, or fewer.
    void set_most(std::uint32_t most) noexcept { most_ = most; }

    // Consumer side: for heaps whose handle the caller holds. Several threads may ask about one heap.

    /// Returns the received bytes in order. Neighbours in the heap's block are one segment.
    std::vector<Segment> segments(const Record& r) const;
    /// Returns the payload, of `size` bytes, in one piece: where it is, if it is one packet; otherwise in the
    /// heap's block, to which the first call copies the lent packets. Other threads wait for that copy.
    std::span<const std::byte> gather(const Record& r, std::size_t size) noexcept;

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// Holds a lent packet.
    struct Slot {
        void* buffer;
        const std::byte* from;
        std::uint32_t offset;
        std::uint32_t length;
        std::uint32_t next;  ///< of the same heap, in order of arrival; or of the free ones
    };
    enum class Gathered : std::uint8_t { no, now, yes };
    /// Holds the packets of one record's heap.
    struct Chain {
        std::uint32_t first = kNone;
        std::uint32_t last = kNone;
        bool copied = false;  ///< further packets are
        std::atomic<Gathered> gathered{Gathered::no};
    };

    Chain& chain_of(const Record& r) noexcept { return chains_[static_cast<std::size_t>(&r - first_)]; }
    const Chain& chain_of(const Record& r) const noexcept {
        return chains_[static_cast<std::size_t>(&r - first_)];
    }
    void free_chain(Chain& c) noexcept;

    std::uint32_t most_;
    const Free free_buffers_;
    const std::size_t records_;
    const Record* first_ = nullptr;
    std::uint32_t out_ = 0;
    std::uint32_t free_ = kNone;  ///< list
    std::unique_ptr<Slot[]> slots_;
    std::unique_ptr<Chain[]> chains_;  ///< by the number of the record
};

}  // namespace spead::heap
