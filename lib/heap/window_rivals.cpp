// SPDX-License-Identifier: BSD-3-Clause
/// Handles heaps that claim the same count.
///
/// A packet with a forged length, or of another flavour, may come before the first packet of the heap whose
/// count it has; then the heap's own packets contradict it. While it is unknown which is right, each claim
/// has a heap, and takes the packets that agree with it. They are linked in a circle; the table knows one of
/// them.
#include "heap/window.hpp"

namespace spead::heap {

namespace {

/// Limits the claims to one count at a time.
constexpr int kMostClaims = 16;

}  // namespace

/// Returns whether the packet may be one of the heap's: flavour and length do not contradict.
bool Window::agrees(const Record& r, const PacketView& v) noexcept {
    if (v.flavour != r.flavour)
        return false;
    if (v.heap_length == r.length || (v.heap_length == kUnknownLength && r.length == kUnknownLength))
        return true;
    if (v.heap_length == kUnknownLength)
        return v.offset + v.payload_length <= r.length;
    return r.length == kUnknownLength && v.heap_length >= r.coverage.extent();
}

/// Handles a packet that contradicts the heap of its count: it belongs to another claim, begins one, or is
/// refused.
Window::Accepted Window::contradicted(const PacketView& v) noexcept {
    const Accepted refused{PacketOutcome::inconsistent, nullptr};
    if (!config_.guarded || heap_placer_ != nullptr)
        return refused;
    Record& first = records_[table_.find(v.key)->record];
    bool shown = false;
    int claims = 0;
    Record* least = nullptr;
    for (Record* r = &first;; r = &records_[r->rival - 1]) {
        if (agrees(*r, v)) {
            last_key_ = v.key;
            last_record_ = doubts_ == 0 ? r : nullptr;
            return add(*r, v);
        }
        shown |= !is_ghost(*r);
        claims++;
        if (least == nullptr || r->packets < least->packets ||
            (r->packets == least->packets && r->place - least->place > 1U << 31))
            least = r;
        if (r->rival == 0 || &records_[r->rival - 1] == &first)
            break;
    }
    if (shown || (v.flags & PacketView::kControl) != 0)
        return refused;
    if (claims < kMostClaims)
        return start_beside(v, first);
    if (least->packets > 1)
        return refused;
    // The oldest of those that have shown no more than this one.
    end(*least, HeapEnd::evicted);
    return start_beside(v, records_[table_.find(v.key)->record]);
}

/// Retracts a claim because another one has proved to be the heap; this one is not counted.
void Window::retract_claim(Record& r) noexcept {
    r.flags |= Record::kRetracted;
    retracted_ = true;
    suspects_.made_ghost(r.source);
    counters_[PacketOutcome::placed] -= r.packets;
    counters_[PacketOutcome::inconsistent] += r.packets;
    counters_.heaps_started--;
}

void Window::link(Record& known, Record& r) noexcept {
    const std::uint32_t next = known.rival == 0 ? number_of(known) + 1 : known.rival;
    known.rival = number_of(r) + 1;
    r.rival = next;
}

/// Ends a heap whose count others claim. Returns false when none of them is left, and the count is the heap's
/// own.
bool Window::leave_rivals(Record& r, bool complete) noexcept {
    Record* before = &r;
    while (before->rival != number_of(r) + 1)
        before = &records_[before->rival - 1];
    if (complete) {
        // It has shown that it is the heap. Others that have shown something are left, whatever they are.
        for (Record* x = &records_[r.rival - 1]; x != &r;) {
            Record* const next = &records_[x->rival - 1];
            if (is_ghost(*x)) {
                before = &r;
                while (before->rival != number_of(*x) + 1)
                    before = &records_[before->rival - 1];
                before->rival = x->rival;
                x->rival = 0;
                end(*x, HeapEnd::evicted, true);
            }
            x = next;
        }
        if (r.rival == number_of(r) + 1) {
            r.rival = 0;
            return false;
        }
        before = &r;
        while (before->rival != number_of(r) + 1)
            before = &records_[before->rival - 1];
    }
    Record& next = records_[r.rival - 1];
    before->rival = &next == before ? 0 : number_of(next) + 1;
    r.rival = 0;
    // It may have been the table's, or one of those that have just ended.
    table_.find(r.key)->record = number_of(next);
    return true;
}

}  // namespace spead::heap
