// SPDX-License-Identifier: BSD-3-Clause
/// Decides which heaps are evicted when others begin.
///
/// As in spead2, a heap is evicted when max_live newer ones have begun. With `guarded`, those must have
/// proved to be heaps. For that they need as many packets as half of the old one, and more than a forged
/// count has. So packets with stray heap counts evict each other only. Meanwhile the heaps stay in the ring
/// of places, which has room for kDoubtful more than may be live.
#include <algorithm>
#include <tuple>
#include <utility>

#include "heap/window.hpp"

namespace spead::heap {

namespace {

/// Holds the packets that a count must have to be taken for a heap; two if it has no more.
constexpr std::uint32_t kShown = 5;
constexpr std::uint32_t kShownWhole = 2;
/// Holds how many of max_live newer heaps must have proved themselves, among the latest ones of that number.
constexpr std::uint32_t kWitnesses = 8;
constexpr std::uint32_t kLooks = 16;
/// Limits the other sources' ghosts at the end of the ring that are spared when a demoted source's heap
/// begins.
constexpr int kKept = 8;
/// Holds how many heaps in a row are refused before an overdue heap without new packets is evicted.
constexpr std::uint32_t kRefused = 32;
/// Holds how many newer heaps of the window a heap has to prove itself when memory is short.
constexpr std::int32_t kSlow = 64;
/// Limits the places that are searched for a ghost whose memory is needed.
constexpr int kGhostLooks = 64;

/// Returns whether a newer heap with that many packets is one for which `r` has to make room.
bool is_match(std::uint32_t packets, bool complete, const Record& r) noexcept {
    return packets >= (complete ? kShownWhole : kShown) && std::uint64_t{packets} * 2 >= r.packets;
}

}  // namespace

[[gnu::noinline]] void Window::count_gap(std::uint64_t now) noexcept {
    times_.gap.add(0, std::exchange(same_start_, 0));
    if (last_start_ != 0)
        times_.gap.add(now > last_start_ ? now - last_start_ : 0);
    last_start_ = now;
}

/// Evicts the oldest heaps of the substream, as far as necessary: more than max_live have begun with the one
/// that is to have the last number, whose place is not written yet.
[[gnu::noinline]] void Window::make_way(Substream& s, bool demoted) noexcept {
    if (!config_.guarded) {
        for (; s.places.span() > config_.max_live; s.places.oldest++)
            if (Record* const r = s.places.at(s.places.oldest).live(); r != nullptr)
                evict(s, *r);
        return;
    }
    // The ring's end comes first: its oldest place is the one that the newest heap is to have.
    for (int kept = 0; s.places.span() > s.places.size();) {
        Record* const r = s.places.at(s.places.oldest).live();
        if (r == nullptr) {
            s.places.oldest++;
            continue;
        }
        // Ghosts of demoted sources evict only each other, as far as there are any.
        const bool spared = demoted && kept < kKept && (r->flags & Record::kDemoted) == 0;
        if (is_ghost(*r) ? !spared : r->packets == r->visited) {
            evict(s, *r);
            s.places.oldest++;
            continue;
        }
        // It goes on as if it had just begun, in the place that was to be written; the next one is written
        // then.
        kept += is_ghost(*r);
        r->visited = r->packets;
        r->flags &= static_cast<std::uint8_t>(~Record::kDue);
        r->place = s.places.begun - 1;
        s.places.at(r->place) = Place(r);
        s.places.begun++;
        s.places.oldest++;
    }
    s.places.at(s.places.begun - 1) = {};
    // Half a ring from its end: a packet from now on keeps it.
    if (const std::uint32_t half = s.places.size() / 2; s.places.span() > half)
        if (Record* const r = s.places.at(s.places.begun - 1 - half).live(); r != nullptr)
            r->visited = r->packets;
    settle(s);
}

/// Evicts the oldest heaps that have been surpassed. The others that stay although max_live newer ones have
/// begun are in doubt; so is `busy`, whose packet is being entered.
void Window::settle(Substream& s, const Record* busy) noexcept {
    Places& p = s.places;
    for (;; p.oldest++) {
        while (p.span() > config_.max_live && p.at(p.oldest).live() == nullptr)
            p.oldest++;
        const bool due = p.span() > config_.max_live;
        if (due) {
            Record& r = *p.at(p.oldest).live();
            if ((r.flags & Record::kDue) == 0)
                count_witnesses(s, r);
            if (r.witnesses >= std::min(config_.max_live, kWitnesses) && &r != busy) {
                evict(s, r);
                continue;
            }
        }
        if (due != s.in_doubt) {
            s.in_doubt = due;
            doubts_ += due ? 1U : ~0U;
            last_record_ = nullptr;
        }
        return;
    }
}

/// Counts the newer heaps that have proved themselves already.
void Window::count_witnesses(Substream& s, Record& r) noexcept {
    Places& p = s.places;
    r.flags |= Record::kDue;
    r.witnesses = 0;
    const std::uint32_t newer = std::min(p.begun - r.place - 1, kLooks);
    for (std::uint32_t i = 1; i <= newer; i++) {
        const Place place = p.at(p.begun - i);
        if (Record* const x = place.live(); x != nullptr) {
            if (is_match(x->packets, false, r)) {
                x->witness_for = r.place + 1;
                r.witnesses++;
            }
        } else if (is_match(place.packets(), place.complete(), r)) {
            r.witnesses++;
        }
    }
}

/// Counts a packet of `x` as evidence, while a heap of its substream is in doubt.
[[gnu::noinline]] void Window::bear_witness(Record& x) noexcept {
    Substream& s = substream_of(x.key);
    if (!s.in_doubt)
        return;
    Record* const r = s.places.at(s.places.oldest).live();
    if (r == nullptr || x.place - r->place - 1 >= s.places.size() || x.witness_for == r->place + 1 ||
        !is_match(x.packets, x.complete(), *r))
        return;
    x.witness_for = r->place + 1;
    if (++r->witnesses >= std::min(config_.max_live, kWitnesses))
        settle(s, &x);
}

/// Returns whether the heap is so slow that it is treated like a ghost when memory is short.
bool Window::is_slow(const Record& r) const noexcept {
    // Claims that were no heaps are taken out of heaps_started: it may be less than when the heap began.
    const auto newer =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(counters_.heaps_started) - r.number);
    return r.packets < kShown && newer >= kSlow;
}

void Window::evict(Substream& s, Record& r) noexcept {
    // Later, not at the same time: all packets of a burst have one arrival time.
    if (r.last_arrival > s.start_before)
        counters_.heaps_interleaved_evictions++;
    // A ghost is not delivered where its memory is wanted more.
    const bool wanted = config_.guarded && is_ghost(r) && !waits_ && bytes_of(r) > placer_.available() / 4 &&
                        !leaves_its_room(r) && !tickets_->is_out(r.ticket);
    end(r, HeapEnd::evicted);
    if (wanted) [[unlikely]]
        drop_last_ended();
}

/// Drops the heap that has just ended.
void Window::drop_last_ended() noexcept {
    drop(*ended_[--ended_tail_ & ended_mask_]);
    counters_.heaps_dropped_ghosts++;
}

/// Evicts, because memory is short, the heap that would be next if only the order counted. Unless `busy_too`,
/// the heap must have got no packet while many others were refused.
bool Window::evict_due(Substream& s, bool busy_too) noexcept {
    Places& p = s.places;
    while (p.span() != 0 && p.at(p.oldest).live() == nullptr)
        p.oldest++;
    if (p.span() < config_.max_live)
        return false;
    Record& r = *p.at(p.oldest).live();
    if (!busy_too) {
        const std::pair now{r.place, r.packets};
        s.refused = std::exchange(s.when_refused, now) == now ? s.refused + 1 : 1;
        if (s.refused < kRefused)
            return false;
    }
    evict(s, r);
    evicted_for_room_++;
    p.oldest++;
    return true;
}

/// Ends, and drops, the largest ghost whose memory, or record, is wanted for a block of `bytes`. A request
/// above a fair amount takes it only from ghosts that have as much; with `larger`, only from those that have
/// more. If books are short, sizes are those of books. `keep` is in use. Returns false when none of the
/// examined ones would help.
bool Window::drop_ghost(std::size_t bytes, bool larger, Short what, const Record* keep) noexcept {
    const bool books = what == Short::books;
    const bool modest =
        room_for(config_.live_capacity(), bytes) <= (books ? books_.capacity() : placer_.quota());
    const std::size_t least = free_count_ == 0 ? 0
                              : larger         ? 2 * bytes
                              : modest         ? bytes / kGhostTries
                                               : bytes;
    Record* best = nullptr;
    std::tuple<bool, bool, std::size_t, int> best_rank;
    int looks = 0;
    for (std::size_t i = 0; i < substreams_.size() && looks < kGhostLooks; i++) {
        Places& p = substreams_[ghost_cursor_].places;
        for (std::uint32_t n = p.oldest; n != p.begun && looks < kGhostLooks; n++) {
            Record* const r = p.at(n).live();
            if (r == nullptr || r == keep)
                continue;
            looks++;
            if (!(is_ghost(*r) || is_slow(*r)) || tickets_->is_out(r->ticket))
                continue;
            const std::size_t size = books ? books_of(*r) : bytes_of(*r);
            if (size < least || (books && size == 0))
                continue;
            // For a record, one that had its time goes before one that has just begun.
            const auto rank =
                std::tuple(free_count_ == 0 && is_slow(*r), is_ghost(*r), size, r->flags & Record::kDemoted);
            if (best == nullptr || rank > best_rank) {
                best = r;
                best_rank = rank;
            }
        }
        if (looks < kGhostLooks)
            ghost_cursor_ = ghost_cursor_ + 1 == substreams_.size() ? 0 : ghost_cursor_ + 1;
    }
    if (best == nullptr)
        return false;
    const bool keeps = !books && free_count_ != 0 && leaves_its_room(*best);
    end(*best, HeapEnd::evicted);
    evicted_for_room_++;
    if (!keeps)
        drop_last_ended();
    return true;
}

/// Returns whether so few of the heap's packets came that the others can hardly be lost. The last packet of a
/// heap may be short: packets are as long as all of the stream's are, at least.
bool Window::has_little(const Record& r) const noexcept {
    if (r.length == kUnknownLength)
        return true;
    const std::uint64_t all = std::max<std::uint64_t>(counters_[PacketOutcome::placed], 1);
    const std::uint64_t each =
        std::max({r.coverage.received() / std::max(r.packets, 1U), counters_.bytes / all, std::uint64_t{1}});
    return r.packets * kGhostPart < (r.length + each - 1) / each;
}

/// Books a heap that is given up after a packet or two. Its count is not remembered, so that it neither fills
/// the history nor keeps a heap with this count away. If a quarter of its packets came, it is no
/// ghost for reports, and is delivered like others.
void Window::note_ghost(Record& r) noexcept {
    const bool counts = has_little(r);
    suspects_.made_ghost(r.source, counts);
    if (!counts)
        return;
    r.flags |= Record::kGhost;
    retracted_ = true;
    counters_.heaps_ghosts++;
    const Suspects::Suspect& worst = suspects_.worst();
    counters_.ghosts_source = worst.source;
    counters_.ghosts_of_source = worst.ghosts;
}

}  // namespace spead::heap
