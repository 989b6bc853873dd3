// SPDX-License-Identifier: BSD-3-Clause
/// Handles stream control, and ends heaps without a packet of theirs: after a time without one, at a stop
/// item, with the stream.
#include "heap/window.hpp"

namespace spead::heap {

void Window::see_control(const PacketView& v) noexcept {
    if ((v.flags & PacketView::kStop) == 0)
        return;
    counters_.stop_items++;
    if (config_.stop_on_stop_item)
        refuse_packets();
}

/// Retracts a heap of several packets with stream control only, which is no data: its packets move to
/// `control`, and the heap is not counted.
bool Window::retract_if_control(Record& r) noexcept {
    if ((r.flags & (Record::kHasControl | Record::kHasItems)) != Record::kHasControl || config_.control_heaps)
        [[likely]]
        return false;
    r.flags |= Record::kRetracted;
    // The packet that completed it is counted as placed by accept() after this.
    counters_[PacketOutcome::placed] -= r.packets;
    counters_[PacketOutcome::control] += r.packets;
    counters_.bytes -= r.coverage.received();
    counters_.control_bytes += r.coverage.received();
    counters_.heaps_started--;
    return true;
}

void Window::expire(std::uint64_t now) noexcept {
    now_ = now;
    for (Substream& s : substreams_) {
        forget_expired(s, now);
        if (config_.timeout_ticks == 0)
            continue;
        for (std::uint32_t n = s.places.oldest; n != s.places.begun; n++)
            if (Record* const r = s.places.at(n).live();
                r != nullptr && now > r->last_arrival && now - r->last_arrival > config_.timeout_ticks)
                end(*r, HeapEnd::timed_out);
    }
    hand_over(now);
}

void Window::flush(std::uint64_t now) noexcept {
    for (Substream& s : substreams_)
        for (std::uint32_t n = s.places.oldest; n != s.places.begun; n++)
            if (Record* const r = s.places.at(n).live(); r != nullptr)
                end(*r, HeapEnd::flushed);
    hand_over(now);
}

void Window::refuse_packets() noexcept {
    stopped_ = true;
    stop_pending_ = true;
    last_record_ = nullptr;
    whole_most_ = 0;
}

void Window::finish_stop() noexcept {
    stop_pending_ = false;
    flush(now_);
}

}  // namespace spead::heap
