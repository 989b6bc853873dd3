// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "send/header_template.hpp"
#include "send/pacer.hpp"
#include "send/packetiser.hpp"
#include "send/payload_refs.hpp"

namespace spead::send {

class Heap;

/// A submitted heap on its way from the producer to the lcore.
struct alignas(16) Entry {
    Heap* heap = nullptr;  ///< the lcore only passes it on
    const HeapLayout* layout = nullptr;
    void* user = nullptr;
    std::uint64_t cnt = 0;
    std::uint64_t deadline = 0;  ///< ticks; when it is given up, or 0: never
    double rate = -1;            ///< bytes per second, 0: unlimited, below 0: the sender's
    std::uint32_t substream = 0;
    bool group_end = true;  ///< the last heap of its group, whose heaps are interleaved
    bool control = false;   ///< no request_cut touches it
};

/// One heap that is being sent. Owned by the lcore, but for what PayloadRefs says.
struct alignas(64) Slot {
    Packetiser packets;
    const DestinationHeader* destination = nullptr;
    bool own_rate = false;
    bool built = false;  ///< no packets are left, or they were given up
    bool aborted = false;
    bool timed_out = false;  ///< aborted, because of its deadline
    bool stamped = false;    ///< `stamp` is set
    Pacer::Cost cost = 0;
    std::uint64_t made = 0;  ///< packets built
    std::uint64_t end = 0;   ///< built: serial number of the packet after its last one
    Entry entry;
    PacketStamp stamp;
    PayloadRefs refs;
};

/// The heaps that the lcore knows, oldest first, in fixed memory. A heap is named by its serial number.
class InFlight {
  public:
    /// Room for `heaps` heaps, in EAL memory on `numa`. Throws Error when there is none.
    InFlight(std::uint32_t heaps, int numa, const std::string& where);
    /// Every reference must have come back (drained), else the memory is left alone for ever: drivers would
    /// write to it.
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /// Bytes of EAL memory for `heaps` heaps, the queues to and from the producer included.
    static std::size_t memory(std::uint32_t heaps) noexcept;

    Slot& operator[](std::uint64_t serial) noexcept { return slots_[serial & mask_]; }
    std::uint64_t begin() const noexcept { return begin_; }  ///< the oldest heap
    std::uint64_t end() const noexcept { return end_; }      ///< after the newest heap
    bool empty() const noexcept { return begin_ == end_; }
    std::uint64_t room() const noexcept { return mask_ + 1 - (end_ - begin_); }

    Slot& push() noexcept { return slots_[end_++ & mask_]; }
    void pop() noexcept { ++begin_; }

  private:
    Slot* slots_ = nullptr;
    std::uint64_t mask_ = 0;
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
};

}  // namespace spead::send
