// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "send/header_template.hpp"
#include "send/pacer.hpp"
#include "send/packetiser.hpp"
#include "send/payload_refs.hpp"

namespace spead::send {

class OutgoingHeap;

/// Holds a submitted heap between the heap source and the lcore.
struct alignas(16) Entry {
    OutgoingHeap* heap = nullptr;  ///< the lcore only passes it on
    const HeapLayout* layout = nullptr;
    void* user = nullptr;
    std::uint64_t cnt = 0;
    std::uint64_t deadline = 0;  ///< ticks after which it is given up; 0: never
    double rate = -1;            ///< bytes per second, 0: unlimited, below 0: the sender's
    std::uint32_t substream = 0;
    bool group_end = true;  ///< the last heap of its group, whose heaps are interleaved
    bool control = false;   ///< no request_cut touches it
};

/// Says how far a heap has come.
enum class Progress : std::uint8_t {
    open,      ///< packets are left to be built
    built,     ///< none are left
    aborted,   ///< the rest was given up
    timed_out  ///< likewise, because of its deadline
};

/// Holds one heap that is being sent. Owned by the lcore; PayloadRefs has the exceptions.
struct alignas(64) Slot {
    Packetiser packets;
    const DestinationHeader* destination = nullptr;
    Progress progress = Progress::open;
    bool own_rate = false;
    bool stamped = false;  ///< `stamp` is set
    Pacer::Cost cost = 0;
    std::uint64_t serial = 0;
    std::uint64_t made = 0;  ///< packets built
    std::uint64_t end = 0;   ///< when built: serial number of the packet after its last one
    Slot* next = nullptr;    ///< belongs to Turns, as prev; null: in no ring
    Slot* before = nullptr;
    Entry entry;
    PacketStamp stamp;
    PayloadRefs refs;
};

/// Holds the heaps that the lcore knows, oldest first, in fixed memory. Those without a group yet are the
/// newest ones; a heap may be popped before it had one.
class InFlight {
  public:
    /// Goes through slots, oldest first.
    class Iterator {
      public:
        Iterator(const InFlight& heaps, std::uint64_t serial) noexcept : heaps_(&heaps), serial_(serial) {}
        Slot& operator*() const noexcept { return heaps_->slots_[serial_ & heaps_->mask_]; }
        Iterator& operator++() noexcept {
            ++serial_;
            return *this;
        }
        bool operator==(const Iterator& other) const noexcept { return serial_ == other.serial_; }

      private:
        const InFlight* heaps_;
        std::uint64_t serial_;
    };

    /// Reserves room for `heaps` heaps, in EAL memory on `numa`. Throws Error when there is none.
    InFlight(std::uint32_t heaps, int numa, const std::string& where);
    /// Frees the memory if every reference has come back (drained). Otherwise leaves it allocated: drivers
    /// would write to it.
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /// Returns the bytes of EAL memory for `heaps` heaps, with the queues to and from the heap source.
    static std::size_t memory(std::uint32_t heaps) noexcept;

    Iterator begin() const noexcept { return {*this, begin_}; }
    Iterator end() const noexcept { return {*this, end_}; }
    bool empty() const noexcept { return begin_ == end_; }
    std::uint64_t room() const noexcept { return mask_ + 1 - (end_ - begin_); }

    /// Adds the newest heap. Call it only if there is room.
    Slot& push() noexcept {
        Slot& slot = slots_[end_ & mask_];
        slot.serial = end_++;
        return slot;
    }
    Slot& oldest() const noexcept { return slots_[begin_ & mask_]; }
    /// Removes the oldest heap, whether or not it had a group. Call it only if there is one.
    void pop() noexcept {
        ++begin_;
        fresh_ = std::max(fresh_, begin_);
    }

    /// Returns whether there is a heap without a group yet.
    bool any_fresh() const noexcept { return fresh_ != end_; }
    /// Removes the oldest of them that were given up, so that the first one is open. Call it when one was
    /// given up, and when a group has all of its own.
    void skip_given_up() noexcept {
        while (any_fresh() && slots_[fresh_ & mask_].progress != Progress::open)
            ++fresh_;
    }
    /// Takes the oldest of them for a group; null: there is none.
    Slot* take_fresh() noexcept { return any_fresh() ? &slots_[fresh_++ & mask_] : nullptr; }

  private:
    Slot* slots_ = nullptr;
    std::uint64_t mask_ = 0;
    // Serial numbers: begin_ <= fresh_ <= end_, whatever is called.
    std::uint64_t begin_ = 0;
    std::uint64_t fresh_ = 0;
    std::uint64_t end_ = 0;
};

}  // namespace spead::send
