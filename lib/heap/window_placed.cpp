// SPDX-License-Identifier: BSD-3-Clause
/// Starts and ends heaps whose payload goes where a HeapPlacer says. Such a heap has no block, never grows,
/// and no rival: its length is that of its place. When it has ended, its record is free as soon as all
/// copies into it have been made.
#include "heap/window.hpp"

namespace spead::heap {

[[gnu::noinline]] Window::Accepted Window::start_placed(const PacketView& v) noexcept {
    // A heap of control only that takes several packets: it has no place, and is no data.
    if ((v.flags & (PacketView::kControl | PacketView::kItems)) == PacketView::kControl) {
        see_control(v);
        return {PacketOutcome::control, nullptr};
    }
    if (free_count_ == 0)
        return refuse(v);
    const std::uint32_t number = number_of(*free_[free_count_ - 1]);
    const HeapPlacer::Answer answer = heap_placer_->begin(v, number);
    if (answer.outcome == kWait)
        return {kWait, nullptr};
    const bool fits = v.offset + v.payload_length <= answer.length &&
                      (v.heap_length == kUnknownLength || v.heap_length == answer.length);
    if (answer.outcome != PacketOutcome::placed || !fits) {
        const PacketOutcome outcome =
            answer.outcome == PacketOutcome::placed ? PacketOutcome::bad_length : answer.outcome;
        if ((v.flags & PacketView::kControl) != 0)
            see_control(v);
        if (answer.for_all)
            remember_refused(v, outcome);
        return {outcome, nullptr};
    }
    PacketView sized = v;
    sized.heap_length = answer.length;
    const Accepted a = begin_without_rival(sized, {});
    if (a.record != nullptr)
        a.record->base = answer.base;
    return a;
}

/// Frees the records of ended heaps, up to one with a copy that is still to come.
void Window::recycle() noexcept {
    while (ended_head_ != ended_tail_) {
        Record& r = *ended_[ended_head_ & ended_mask_];
        if (tickets_->is_out(r.ticket))
            return;
        ended_head_++;
        if ((r.flags & Record::kRetracted) == 0) {
            times_.latency.add(r.last_arrival > r.first_arrival ? r.last_arrival - r.first_arrival : 0);
            counters_.heaps_waiting--;
            counters_.heaps_pushed++;
        }
        heap_placer_->end(r, number_of(r));
        free_record(r);
    }
    retracted_ = false;
}

}  // namespace spead::heap
