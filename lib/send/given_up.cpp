// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "send/transmitter.hpp"

/// Handles heaps that are not sent, or not completely: cut, recalled, timed out, or abandoned with their
/// sender.
namespace spead::send {

/// Gives up the rest of an open heap, which is never built.
void Transmitter::give_up(Slot& slot, Progress progress) noexcept {
    cut_packets_ += slot.entry.layout->packets - slot.made;
    close(slot, progress);
    heaps_.skip_given_up();
}

/// Gives the heap up if the cut covers it.
void Transmitter::cut(Slot& slot) noexcept {
    const bool spared = slot.entry.control || (slot.made != 0 && cut_ != Cut::begun);
    if (slot.progress == Progress::open && !spared)
        give_up(slot, Progress::aborted);
}

void Transmitter::cut(Cut cut_now) noexcept {
    cut_ = std::max(cut_, cut_now);
    for (Slot& slot : heaps_)
        cut(slot);
}

/// Gives up heaps whose deadline is over and that the driver has not fully taken. Deadlines are in the order
/// of submission.
void Transmitter::time_out(std::uint64_t now) noexcept {
    accept_entries();
    next_deadline_ = now + timeout_ticks_;
    for (Slot& slot : heaps_) {
        const bool built = slot.progress == Progress::built;
        if (slot.entry.deadline == 0 || (built && slot.end <= sent_) || slot.progress > Progress::built)
            continue;
        if (now < slot.entry.deadline) {
            next_deadline_ = slot.entry.deadline;
            break;
        }
        take_away(slot, Progress::timed_out);
    }
}

/// Gives up the heap, built or not, and its frames.
void Transmitter::take_away(Slot& slot, Progress progress) noexcept {
    if (slot.progress == Progress::built)
        slot.progress = progress;
    else
        give_up(slot, progress);
    take_back(slot);
}

/// Gives up all data heaps that the driver has not fully taken.
void Transmitter::recall() noexcept {
    shared_.recall.store(false, std::memory_order_relaxed);
    accept_entries();
    for (Slot& slot : heaps_) {
        const bool taken = slot.progress == Progress::built && slot.end <= sent_;
        if (!slot.entry.control && !taken && slot.progress <= Progress::built)
            take_away(slot, Progress::aborted);
    }
}

/// Frees the heap's frames that the driver has not taken.
void Transmitter::take_back(const Slot& slot) noexcept {
    burst_.drop_packets_of(slot.serial, [this](std::uint32_t place) {
        for (Slot& other : heaps_)
            other.end -= other.progress == Progress::built && other.end > sent_ + place ? 1 : 0;
        --built_;
        ++cut_packets_;
        ++counters_.dropped;
    });
}

void Transmitter::abandon(Heaps heaps) noexcept {
    const std::uint32_t dropped = burst_.drop();
    built_ -= dropped;
    cut_packets_ += dropped;
    counters_.dropped += dropped;
    if (heaps == Heaps::gone)
        cut_ = Cut::nothing;
    accept_entries();
    for (Slot& slot : heaps_) {
        if (slot.progress == Progress::open) {
            if (heaps == Heaps::there) {
                give_up(slot, Progress::aborted);
            } else {
                close(slot, Progress::aborted);
                heaps_.skip_given_up();
            }
        } else if (slot.progress == Progress::built && slot.end > sent_) {
            slot.progress = Progress::aborted;
        }
    }
    resting_ = true;
}

}  // namespace spead::send
