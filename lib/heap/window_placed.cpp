// SPDX-License-Identifier: BSD-3-Clause
/// Starts and ends heaps whose payload goes where a HeapPlacer says. Such a heap has no block, never grows,
/// and no rival: its length is that of its place. When it has ended, its record is free as soon as all
/// copies into it have been made. A heap of one packet needs no record.
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

bool Window::may_pass(const PacketView& v) noexcept {
    const std::uint64_t length = v.payload_length;
    if (length - 1 >= whole_most_ || v.item_count > Record::kInlineItems || v.item_extent > length ||
        (v.flags & PacketView::kControl) != 0 || (config_.history != 0 && v.flavour <= kFewBits)) [[unlikely]]
        return false;
    Places& p = substream_of(v.key).places;
    // It changes nothing yet: those that have ended are counted as evidence while an older one is in doubt.
    std::uint32_t oldest = p.oldest;
    while (p.begun - oldest >= config_.max_live && p.at(oldest).live() == nullptr)
        oldest++;
    // An older heap may have to go first.
    return p.begun - oldest < config_.max_live && (table_.size() == 0 || table_.find(v.key) == nullptr);
}

void Window::pass(const PacketView& v) noexcept {
    const std::uint64_t length = v.payload_length;
    now_ = v.arrival;
    Substream& s = substream_of(v.key);
    s.start_before = std::exchange(s.newest_start, v.arrival);
    Places& p = s.places;
    while (p.begun - p.oldest >= config_.max_live)
        p.oldest++;
    p.at(p.begun++) = Place(1, true);
    if (config_.history != 0) {
        if (s.history.full())
            forget_oldest(s);
        table_.insert(v.key, KeyTable::State::done, note_of(length, v.flavour));
        s.history.remember(v.key, v.arrival);
    }
    count_start(v.arrival);
    passed_++;
    counters_.heaps_started++;
    counters_.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)]++;
    counters_.heaps_pushed++;
    counters_[PacketOutcome::placed]++;
    counters_.bytes += length;
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
