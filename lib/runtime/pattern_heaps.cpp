// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pattern_heaps.hpp"

#include <algorithm>

#include "wire/flavour.hpp"

namespace spead::runtime {

std::uint32_t PatternOrder::senders_of(const SendPlan& plan) noexcept {
    return plan.senders != 0 ? plan.senders : shape_of(plan.pattern).senders;
}

PatternOrder::PatternOrder(const SendPlan& plan)
    : pattern_(plan.pattern),
      endpoints_(static_cast<std::uint32_t>(plan.endpoints.size())),
      groups_(plan.pattern == HeapPattern::p1 ? 1 : endpoints_),
      senders_(senders_of(plan)),
      first_time_(plan.first_time) {}

PatternHeap PatternOrder::heap(std::uint64_t index) const noexcept {
    PatternHeap heap;
    heap.sender = static_cast<std::uint32_t>(index % senders_);
    heap.group = static_cast<std::uint32_t>(index / senders_ % groups_);
    heap.time = first_time_ + index / senders_ / groups_;
    return heap;
}

std::uint32_t PatternOrder::endpoint(const PatternHeap& heap) const noexcept {
    if (pattern_ != HeapPattern::p1)
        return heap.group;
    if (endpoints_ < senders_)
        return heap.sender / (senders_ / endpoints_);
    const std::uint32_t share = endpoints_ / senders_;
    return heap.sender * share + static_cast<std::uint32_t>(heap.time % share);
}

PatternHeaps::PatternHeaps(const SendPlan& plan)
    : pattern_(plan.pattern),
      order_(plan),
      payload_bytes_(plan.heap_size),
      repeat_items_(plan.repeat_items),
      // Half of the heaps in flight: the next ones wait while these are sent.
      together_(static_cast<std::uint32_t>(
          std::clamp<std::uint64_t>(plan.max_heaps / 2, 1, order_.heaps_per_step()))) {}

std::unique_ptr<send::OutgoingHeap> PatternHeaps::make(std::byte* payload, bool) const {
    auto heap = std::make_unique<send::OutgoingHeap>(wire::Flavour(kPatternAddressBits));
    heap->set_repeat_pointers(repeat_items_);
    // fill() relies on the handles, which count the items from 0.
    const PatternItems items = pattern_items(pattern_, {});
    for (const PatternItem& item : items.view())
        heap->add_immediate(item.id, item.value);
    heap->add_item(shape_of(pattern_).data_id, {payload, payload_bytes_});
    return heap;
}

std::uint32_t PatternHeaps::together(std::uint64_t index) const {
    const std::uint64_t step = order_.heaps_per_step();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(together_, step - (first_ + index) % step));
}

std::uint32_t PatternHeaps::fill(send::OutgoingHeap& heap, std::span<std::byte> payload, std::uint64_t index,
                                 std::uint64_t) {
    const PatternHeap made = order_.heap(first_ + index);
    pattern_generate(payload, pattern_, made);
    const PatternItems items = pattern_items(pattern_, made);
    for (std::size_t i = 0; i < items.count; i++)
        heap.set_immediate(i, items.items[i].value);
    return order_.endpoint(made);
}

}  // namespace spead::runtime
