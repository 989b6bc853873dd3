// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/plan.hpp"
#include "send/outgoing_heap.hpp"

namespace spead::runtime {

/// Decides for a HeapGenerator what its data heaps carry and where they go. Its heap source thread calls it,
/// except for payload_bytes(), start_again() and the first calls of make().
class HeapContents {
  public:
    virtual ~HeapContents() = default;

    /// Returns the payload bytes of each heap.
    virtual std::uint64_t payload_bytes() const = 0;
    /// Makes a heap for a payload of payload_bytes() at `payload`, which outlives it. `describe`: with
    /// descriptors.
    virtual std::unique_ptr<send::OutgoingHeap> make(std::byte* payload, bool describe) const = 0;
    /// Returns whether the first heap to each endpoint carries descriptors. If so, add_descriptors() adds
    /// them to a heap.
    virtual bool described() const = 0;
    virtual void add_descriptors(send::OutgoingHeap& heap) const = 0;

    /// Begins a new start, before which `sent` data heaps were sent since the last one. The main thread calls
    /// it while no heap source thread runs.
    virtual void start_again(std::uint64_t sent) = 0;
    /// Writes data heap `index` of this start into `heap`, which make() made for `payload`,
    /// and returns the index of its endpoint. `cnt` is its heap count.
    virtual std::uint32_t fill(send::OutgoingHeap& heap, std::span<std::byte> payload, std::uint64_t index,
                               std::uint64_t cnt) = 0;
    /// Returns how many heaps are sent together, a packet of each in turn, from heap `index` of this start
    /// on.
    virtual std::uint32_t together(std::uint64_t index) const = 0;
};

/// Makes the contents that the plan asks for: test items, or the heaps of a pattern.
std::unique_ptr<HeapContents> make_heap_contents(const SendPlan& plan);

}  // namespace spead::runtime
