// SPDX-License-Identifier: BSD-3-Clause
/// Moves ended heaps into the queue, past it, and back from consumers.
#include <algorithm>
#include <array>

#include "heap/lent_packets.hpp"
#include "heap/room.hpp"
#include "heap/window.hpp"

namespace spead::heap {

/// Removes the heap's count from the live heaps.
void Window::leave(std::uint64_t key, KeyTable::State state, std::uint8_t flavour) noexcept {
    KeyTable::Entry* const entry = table_.find(key);
    // Without a history, too, one that its user gave up has packets to come, which begin no heap anew.
    if (config_.history == 0 && !giving_up_) {
        if (entry != nullptr)
            table_.erase(entry);
        return;
    }
    Substream& s = substream_of(key);
    if (entry != nullptr) {
        entry->state = state;
        entry->record = 0;
        make_place(s, flavour);
    } else {
        make_place(s, flavour);
        table_.insert(key, state, 0);
    }
    s.history.remember(key, now_);
}

/// Returns whether ended, queued and consumers' heaps leave room for the live heaps and those that may begin
/// until the next hand-over, if all are like `next`. A stream that can wait needs none for the latter: they
/// wait (kWait).
bool Window::leaves_room(const Record& next) const noexcept {
    const std::size_t size = placer_.capacity(next.payload);
    const std::size_t more = waits_ ? 0 : begun_between_hand_overs(next.packets);
    const std::size_t quota = placer_.quota();
    // Half of the quota may queue in any case; for a lossless stream, the one heap that has to.
    const std::size_t queue = waits_ ? std::min(size, quota) : quota / 2;
    const std::size_t reserve = std::min(quota - queue, room_for(config_.live_capacity(), size, more));
    if (placer_.out() - live_bytes_ > quota - reserve)
        return false;
    // The other policies lose heaps to a consumer that holds too many records; this one loses none.
    return !waits_ ||
           records_elsewhere() <= records_.size() - config_.live_capacity() - 2 * kMaxBatch - config_.copying;
}

/// Returns whether `next` has to wait outside the queue although that may have a place.
bool Window::must_wait(const Record& next) noexcept {
    // Without a quota the stream is being removed: no heap begins that could want the room.
    if (leaves_room(next) || placer_.quota() == 0) [[likely]]
        return false;
    if (waits_ && config_.lends)
        return false;
    reclaim();
    // If no consumer has heaps to give back, waiting would not help.
    return !leaves_room(next) && (waits_ ? records_elsewhere() != 0 : !queue_->empty());
}

/// Returns whether a ghost would take a place in the queue, or memory, that heaps may want. A stream that
/// waits loses none.
bool Window::is_unwanted(const Record& ghost) const noexcept {
    return !waits_ && (queue_->size() >= queue_->capacity() / 2 || !leaves_room(ghost));
}

/// Returns how many ended heaps from `first` on, of `most`, have all their copies: all, or of the first
/// kMaxBatch.
std::uint32_t Window::copied(Record* const* first, std::uint32_t most) const noexcept {
    if (!tickets_->any_out()) [[likely]]
        return most;
    most = std::min<std::uint32_t>(most, kMaxBatch);
    std::uint32_t n = 0;
    while (n < most && !tickets_->is_out(first[n]->ticket))
        n++;
    return n;
}

void Window::hand_over(std::uint64_t now) noexcept {
    if (ended_head_ == ended_tail_)
        return;
    if (heap_placer_ != nullptr) [[unlikely]]
        return recycle();
    blocked_ = false;
    bool pushed_any = false;
    while (ended_head_ != ended_tail_) {
        const std::uint32_t at = ended_head_ & ended_mask_;
        const std::uint32_t run = std::min(ended_tail_ - ended_head_, ended_mask_ + 1 - at);
        Record* const next = ended_[at];
        std::uint32_t count = copied(&ended_[at], run);
        if (count == 0) {
            if (!tickets_->failed())
                break;
            lose(*ended_[ended_head_++ & ended_mask_]);
            continue;
        }
        if (retracted_) [[unlikely]] {
            if ((next->flags & Record::kRetracted) != 0) {
                free_record(*next);
                ended_head_++;
                continue;
            }
            if ((next->flags & Record::kGhost) != 0 && is_unwanted(*next)) {
                counters_.heaps_dropped_ghosts++;
                drop(*ended_[ended_head_++ & ended_mask_]);
                continue;
            }
            count = 1;
        }
        const std::uint32_t pushed = must_wait(*next) ? 0 : push(count, now);
        pushed_any |= pushed != 0;
        if (pushed == count) [[likely]]
            continue;
        if (config_.on_full == FullPolicy::block) {
            blocked_ = true;
            break;
        }
        if (config_.on_full == FullPolicy::drop_oldest) {
            if (Record* const oldest = queue_->take_oldest(); oldest != nullptr) {
                counters_.heaps_pushed--;
                counters_.heaps_dropped_full++;
                counters_.heaps_dropped_oldest++;
                free_record(*oldest);
                continue;
            }
            // Consumers were faster, and there is room now; or one is in the middle of a pop, and waiting
            // for it is not for this lcore.
            if (push(1, now) == 1) {
                pushed_any = true;
                continue;
            }
        }
        drop(*ended_[ended_head_++ & ended_mask_]);
    }
    if (ended_head_ == ended_tail_)
        retracted_ = false;
    if (pushed_any)
        queue_->wake();
}

/// Moves the first of at most `count` ended heaps, which are contiguous in the ring, into the queue.
std::uint32_t Window::push(std::uint32_t count, std::uint64_t now) noexcept {
    Record* const* const first = &ended_[ended_head_ & ended_mask_];
    const auto pushed = static_cast<std::uint32_t>(queue_->push(first, count));
    // Small heaps began in the same burst, most of them: equal ones are counted together. Consumers only read
    // the records, and they come back through this lcore.
    for (std::uint32_t i = 0; i < pushed;) {
        const std::uint64_t began = first[i]->first_arrival;
        std::uint32_t same = 1;
        while (i + same < pushed && first[i + same]->first_arrival == began)
            same++;
        times_.latency.add(now > began ? now - began : 0, same);
        i += same;
    }
    counters_.heaps_pushed += pushed;
    counters_.heaps_waiting -= pushed;
    ended_head_ += pushed;
    return pushed;
}

void Window::drop(Record& r) noexcept {
    counters_.heaps_waiting--;
    counters_.heaps_dropped_full++;
    free_record(r);
}

/// Discards an ended heap some of whose copies will never be made.
[[gnu::noinline]] void Window::lose(Record& r) noexcept {
    if ((r.flags & Record::kRetracted) == 0) {
        counters_.heaps_waiting--;
        counters_.heaps_device_error++;
    }
    free_record(r);
}

void Window::drop_waiting() noexcept {
    while (ended_head_ != ended_tail_) {
        Record& r = *ended_[ended_head_ & ended_mask_];
        const bool out = tickets_->is_out(r.ticket);
        if (out && !tickets_->failed())
            break;
        ended_head_++;
        if (out)
            lose(r);
        else if ((r.flags & Record::kRetracted) != 0)
            free_record(r);
        else
            drop(r);
    }
    blocked_ = false;
}

void Window::lend_with(LentPackets& lent) noexcept {
    lent.number_from(records_.data());
    lent_ = &lent;
    queue_->lend_with(lent);
}

/// Gives back what the heap had besides its record. Returns the bytes of payload, which are still to be
/// counted.
[[gnu::always_inline]] inline std::size_t Window::clear(Record& r) noexcept {
    if (lent_ != nullptr) [[unlikely]]
        lent_->release(r);
    if (!r.is_inline()) [[unlikely]]
        free_books(r);
    return r.payload ? placer_.free(r.payload) : 0;
}

void Window::free_record(Record& r) noexcept {
    placer_.count_freed(clear(r));
    free_[free_count_++] = &r;
}

[[gnu::noinline]] void Window::free_books(Record& r) noexcept {
    if (r.item_block)
        books_.give_back(r.item_block);
    if (r.range_block)
        books_.give_back(r.range_block);
    r.use_inline();
}

void Window::reclaim() noexcept {
    std::array<Record*, kMaxBatch> back;
    for (;;) {
        const std::size_t n = queue_->reclaim(back.data(), back.size());
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < n; i++) {
            bytes += clear(*back[i]);
            free_[free_count_++] = back[i];
        }
        if (bytes != 0)
            placer_.count_freed(bytes);
        if (n < back.size())
            return;
    }
}

}  // namespace spead::heap
