// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "send/outgoing_heap.hpp"
#include "spead/send.hpp"
#include "spead/user_memory.hpp"
#include "wire/descriptor.hpp"

namespace spead::door {
class UserHeapSource;
}

namespace spead {

/// Holds a user's heap and its state. Shared with the stream that sends it, so that an lcore never reads a
/// destroyed heap.
struct SendHeap::State {
    explicit State(unsigned address_bits) : heap(wire::Flavour(address_bits)) {}

    /// Throws Error while the heap is in flight.
    void need_idle() const;

    send::OutgoingHeap heap;
    bool may_be_empty = false;               ///< without items it is sent, too
    std::vector<door::ItemMemory> memory{};  ///< the user's that the heap refers to, by item
    /// Says whether the heap is in flight. Set by the submission, cleared once the completion was taken: then
    /// `heap` is the user's thread's.
    std::atomic<bool> in_flight{false};
    SendResult last{};                             ///< of the last completion
    std::weak_ptr<door::UserHeapSource> sender{};  ///< of the heap in flight
};

namespace door {

/// Returns the descriptor in the form of the wire. Throws UsageError, which quotes the invalid part.
wire::Descriptor descriptor_of(const ItemDescription& item);

}  // namespace door
}  // namespace spead
