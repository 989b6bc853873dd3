// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "send/header_template.hpp"
#include "send/pacer.hpp"
#include "send/packetiser.hpp"
#include "send/payload_refs.hpp"

namespace spead::send {

class OutgoingHeap;

/// Says how far a heap has come.
enum class Progress : std::uint8_t {
    open,      ///< packets are left to be built
    built,     ///< none are left
    aborted,   ///< the rest was given up
    timed_out  ///< likewise, because of its deadline
};

/// Holds the part of a slot that the heap source writes at the submission and reads at the completion: one
/// cache line, so that a heap costs one transfer between the two each way.
struct alignas(64) Entry {
    OutgoingHeap* heap = nullptr;  ///< the lcore only passes it on
    const HeapLayout* layout = nullptr;
    void* user = nullptr;
    std::uint64_t cnt = 0;
    std::uint64_t deadline = 0;  ///< ticks after which it is given up; 0: never
    double rate = -1;            ///< bytes per second, 0: unlimited, below 0: the sender's
    std::uint32_t substream = 0;
    bool group_end = true;  ///< the last heap of its group, whose heaps are interleaved
    bool control = false;   ///< no request_cut touches it
    // The lcore writes these when it completes the heap.
    Progress result = Progress::open;
    std::uint64_t time = 0;
};
static_assert(sizeof(Entry) == 64);

/// Holds one heap that is being sent. Owned by the lcore; Entry and PayloadRefs have the exceptions.
struct alignas(64) Slot {
    Entry entry;
    StampedDestination* destination = nullptr;
    Progress progress = Progress::open;
    bool own_rate = false;
    bool alone = false;  ///< the heap's only packet was built at once
    std::uint64_t serial = 0;
    std::uint64_t made = 0;  ///< packets built
    std::uint64_t end = 0;   ///< when built: serial number of the packet after its last one
    Slot* next = nullptr;    ///< belongs to Turns, as prev; null: in no ring
    Slot* before = nullptr;
    Packetiser packets;
    Pacer::Cost cost = 0;
    PayloadRefs refs;
};

/// Holds the heaps between submission and completion, in fixed memory. Its slots are the queues between the
/// heap source and the lcore, too: each side publishes how many it has written, and nothing is copied.
///
/// The lcore sees the heaps that it accepted, oldest first. Those without a group yet are the newest ones; a
/// heap may be popped before it had one.
class InFlight {
  public:
    // The heap source.

    /// Returns the entry of the `i`-th heap of the next submission. The source may write it if fewer than
    /// `heaps` of the constructor are in flight with it, because then its last heap's completion was taken.
    Entry& to_submit(std::uint64_t i) noexcept { return slots_[(written_ + i) & mask_].entry; }
    /// Gives the next `n` heaps to the lcore.
    void submit(std::uint64_t n) noexcept {
        written_ += n;
        submitted_.store(written_, std::memory_order_release);
    }
    /// Returns the number of completed heaps that were not taken yet.
    std::uint64_t completions() const noexcept {
        return completed_.load(std::memory_order_acquire) - taken_.load(std::memory_order_relaxed);
    }
    /// Returns the entry of the `i`-th of them.
    const Entry& completion(std::uint64_t i) const noexcept {
        return slots_[(taken_.load(std::memory_order_relaxed) + i) & mask_].entry;
    }
    /// Takes the first `n` of them.
    void take_completions(std::uint64_t n) noexcept {
        taken_.store(taken_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }

    // The lcore.

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

    /// Reserves room for `heaps` heaps at once, in EAL memory on `numa`. Throws Error when there is none.
    InFlight(std::uint32_t heaps, int numa, const std::string& where);
    /// Frees the memory if every reference has come back (drained). Otherwise leaves it allocated: drivers
    /// would write to it.
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /// Returns the bytes of EAL memory for `heaps` heaps.
    static std::size_t memory(std::uint32_t heaps) noexcept;

    Iterator begin() const noexcept { return {*this, begin_}; }
    Iterator end() const noexcept { return {*this, end_}; }
    bool empty() const noexcept { return begin_ == end_; }

    /// Returns how many submitted heaps were not accepted yet.
    std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire) - end_; }
    /// Accepts the next one as the newest heap. Call it only if there is one.
    Slot& accept() noexcept {
        Slot& slot = slots_[end_ & mask_];
        slot.serial = end_++;
        slot.progress = Progress::open;
        slot.alone = false;
        slot.made = 0;
        return slot;
    }
    Slot& oldest() const noexcept { return slots_[begin_ & mask_]; }
    /// Removes the oldest heap, whether or not it had a group. Call it only if there is one.
    void pop() noexcept {
        ++begin_;
        fresh_ = std::max(fresh_, begin_);
    }
    /// Gives the entries of popped heaps back to the source.
    void complete() noexcept { completed_.store(begin_, std::memory_order_release); }

    /// Returns whether there is a heap without a group yet.
    bool any_fresh() const noexcept { return fresh_ != end_; }
    /// Removes the oldest of them that were given up, so that the first one is open. Call it when one was
    /// given up, and when a group has all of its own.
    void skip_given_up() noexcept {
        while (any_fresh() && slots_[fresh_ & mask_].progress != Progress::open)
            ++fresh_;
    }
    /// Returns the oldest of them. Call it only if there is one.
    Slot& fresh() const noexcept { return slots_[fresh_ & mask_]; }
    /// Takes the oldest of them for a group; null: there is none.
    Slot* take_fresh() noexcept { return any_fresh() ? &slots_[fresh_++ & mask_] : nullptr; }

  private:
    Slot* slots_ = nullptr;
    std::uint64_t mask_ = 0;
    // Serial numbers: taken_ <= completed_ <= begin_ <= fresh_ <= end_ <= submitted_ <= written_, whatever is
    // called. The lcore's:
    alignas(64) std::uint64_t begin_ = 0;
    std::uint64_t fresh_ = 0;
    std::uint64_t end_ = 0;
    /// Lies apart, as the source polls it; likewise submitted_, which the lcore polls.
    alignas(64) std::atomic<std::uint64_t> completed_{0};
    // The source's:
    alignas(64) std::uint64_t written_ = 0;
    std::atomic<std::uint64_t> taken_{0};
    alignas(64) std::atomic<std::uint64_t> submitted_{0};
};

}  // namespace spead::send
