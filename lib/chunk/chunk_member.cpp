// SPDX-License-Identifier: BSD-3-Clause
/// Takes part in a window of chunks for one lcore.
#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include <rte_rcu_qsbr.h>

#include "base/error.hpp"
#include "chunk/chunk_window.hpp"
#include "chunk/elapsed.hpp"

namespace spead::chunk {

namespace {

/// Returns how far `to` is after `from`.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

Member::Member(ChunkWindow& window) : window_(window), mask_(window.mask_), slots_(window.slots_.size()) {
    std::uint64_t joined = window.joined_.load(std::memory_order_relaxed);
    do {
        if (joined == ~std::uint64_t{0})
            throw_usage("chunk window", "more than {} lcores fill it", kMaxMembers);
        number_ = static_cast<unsigned>(std::countr_one(joined));
    } while (!window.joined_.compare_exchange_weak(joined, joined | std::uint64_t{1} << number_,
                                                   std::memory_order_acq_rel));
    window.progress_[number_].position.store(ChunkWindow::kUnknown, std::memory_order_release);
    rte_rcu_qsbr_thread_register(window.qsbr_.get(), number_);
}

Member::~Member() {
    leave();
}

/// Copies the slots if they have changed. Returns whether they had.
bool Member::refresh() noexcept {
    const std::uint64_t token = __atomic_load_n(&window_.qsbr_->token, __ATOMIC_ACQUIRE);
    if (token == token_) [[likely]]
        return false;
    token_ = token;
    note_restart();
    head_ = window_.head_.load(std::memory_order_relaxed);
    tail_ = window_.tail_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < slots_.size(); i++)
        slots_[i] = window_.slots_[i].load(std::memory_order_acquire);
    return true;
}

/// Forgets its position when the window has begun anew: it says nothing about the new ids.
void Member::note_restart() noexcept {
    const std::uint32_t restarts = window_.restarts_.load(std::memory_order_acquire);
    if (std::exchange(restarts_, restarts) == restarts) [[likely]]
        return;
    if (const std::int64_t highest = std::exchange(highest_, -1); highest >= 0)
        former_ = highest;
    ChunkWindow::Progress& own = window_.progress_[number_];
    // It is not waited for if patience for it has ended, until it has packets.
    std::int64_t position = own.position.load(std::memory_order_relaxed);
    if (position != ChunkWindow::kPassed)
        own.position.compare_exchange_strong(position, ChunkWindow::kUnknown, std::memory_order_relaxed);
    own.restarts.store(restarts, std::memory_order_release);
}

Chunk* Member::open(const Request& r, Missing& missing) noexcept {
    if (left_) [[unlikely]] {
        missing = Missing::no_chunk;
        return nullptr;
    }
    go_online();
    refresh();
    if (Chunk* const chunk = find(r.id); chunk != nullptr)
        return chunk;
    // Most late packets need no turn.
    const std::uint64_t jump = window_.config_.max_jump;
    const bool before = head_ >= 0 && r.id < tail_;
    if (before && (jump == 0 || distance(r.id, tail_) <= jump)) {
        missing = Missing::late;
        return nullptr;
    }
    if (!window_.try_turn()) {
        // A vote that is not counted costs little.
        const bool beyond = head_ >= 0 && jump != 0 && r.id > head_ && distance(head_, r.id) > jump;
        if (before)
            window_.counts_.long_past.fetch_add(r.votes, std::memory_order_relaxed);
        missing = before ? Missing::late : beyond ? Missing::future : Missing::busy;
        return nullptr;
    }
    Chunk* const chunk = open_in_turn(r, missing);
    window_.publish();
    const bool any = window_.hand_over_retired();
    window_.end_turn();
    if (any)
        window_.ring_.wake();
    refresh();
    return chunk;
}

/// Returns whether a packet far from the window goes on where this member's packets were, before it lost its
/// CPU or before the window began anew. Such a packet tells nothing new. A queue is empty after a second:
/// then it does.
bool Member::lags(const Request& r) noexcept {
    const std::int64_t from = highest_ >= 0 ? highest_ : former_;
    if (from < 0 || r.id <= from - window_.config_.chunks)
        return false;
    const bool is_ahead = r.id > window_.head_.load(std::memory_order_relaxed);
    if (is_ahead && (highest_ >= 0 || (r.id > from && distance(from, r.id) > window_.config_.max_jump)))
        return false;
    if (std::exchange(lags_from_, from) != from)
        lags_since_ = r.now;
    return elapsed(lags_since_, r.now) <= window_.config_.second_ticks;
}

Chunk* Member::open_in_turn(const Request& r, Missing& missing) noexcept {
    ChunkWindow& w = window_;
    note_restart();
    const std::int64_t head = w.head_.load(std::memory_order_relaxed);
    const std::int64_t tail = w.tail_.load(std::memory_order_relaxed);
    const std::uint64_t jump = w.config_.max_jump;
    std::int64_t id = r.id;
    if (head >= 0 && (id < tail || id > head)) {
        const bool before = id < tail;
        const bool far = jump != 0 && (before ? distance(id, tail) : distance(head, id)) > jump;
        if ((far && (lags(r) || !w.is_believed(r.anew, r.source, r.votes, r.now))) || (before && !far)) {
            missing = before ? Missing::late : Missing::future;
            if (before && far)
                w.counts_.long_past.fetch_add(r.votes, std::memory_order_relaxed);
            return nullptr;
        }
        if (far)
            id = r.anew;
    }
    bool fresh = false;
    if (id > w.head_.load(std::memory_order_relaxed)) {
        if (!w.may_advance(id - w.config_.chunks + 1, number_, r.now)) {
            // It has passed what lies before its own window: others may wait for it.
            highest_ = std::max(highest_, id);
            note_position();
            missing = r.can_wait ? Missing::waits : Missing::no_chunk;
            return nullptr;
        }
        w.advance(id);
        w.note_sender_ahead(id, {.source = r.source,
                                 .begins = r.begins,
                                 .was_before = r.was_before,
                                 .has_own_place = r.has_own_place});
        fresh = true;
    }
    // A source that waits asks again and again, until the ids before have their chunks. Others look once.
    if (w.config_.back_fill && (fresh || r.can_wait) && !w.fill_below(id, r.now) && r.can_wait) {
        missing = Missing::waits;
        return nullptr;
    }
    Chunk* chunk = w.slot(id).load(std::memory_order_relaxed);
    if (chunk == nullptr)
        chunk = w.install(id, r.now);
    missing = chunk != nullptr ? Missing::none : r.can_wait ? Missing::waits : Missing::no_chunk;
    return chunk;
}

/// Says which ids it may still need (lossless).
void Member::note_position() noexcept {
    std::atomic<std::int64_t>& own = window_.progress_[number_].position;
    const std::int64_t position = highest_ - window_.config_.chunks + 1;
    if (own.load(std::memory_order_relaxed) != position)
        own.store(position, std::memory_order_release);
}

/// Notes when chunks were used, and which ones this member may still need.
void Member::note_use() noexcept {
    const ChunkWindowConfig& config = window_.config_;
    if (config.eviction == Eviction::lossless && highest_ >= 0)
        note_position();
    if (config.timeout_ticks == 0)
        return;
    for (Chunk* const chunk : slots_)
        if (chunk != nullptr &&
            chunk->shares[number_].last > chunk->last_used.load(std::memory_order_relaxed))
            chunk->last_used.store(chunk->shares[number_].last, std::memory_order_relaxed);
}

/// Makes the others wait for this member's boundaries. Its slots are empty before.
void Member::go_online() noexcept {
    if (online_) [[likely]]
        return;
    online_ = true;
    rte_rcu_qsbr_thread_online(window_.qsbr_.get(), number_);
}

bool Member::boundary() noexcept {
    if (left_) [[unlikely]]
        return false;
    // The slots are read after the report, and not used between: a chunk that the report lets go is in none
    // of them afterwards.
    if (used_any_) {
        used_any_ = false;
        note_use();
    }
    if (tickets_ != nullptr) [[unlikely]] {
        go_online();
        const bool moved = refresh();
        report_moved();
        window_.try_hand_over();
        return moved;
    }
    if (online_) [[likely]]
        rte_rcu_qsbr_quiescent(window_.qsbr_.get(), number_);
    else
        go_online();
    const bool changed = refresh();
    window_.try_hand_over();
    return changed;
}

/// Lets go the chunks that are in none of its slots. rte_rcu_qsbr_quiescent() would report the window's
/// latest token; the slots are those of this one.
void Member::report() noexcept {
    std::uint64_t& reported = window_.qsbr_->qsbr_cnt[number_].cnt;
    if (__atomic_load_n(&reported, __ATOMIC_RELAXED) != token_)
        __atomic_store_n(&reported, token_, __ATOMIC_RELEASE);
}

/// Lets go the chunks that were in none of its slots when copies were listed that have been made by now. So
/// all copies into these have been made.
void Member::report_moved() noexcept {
    if (tickets_->failed()) [[unlikely]] {
        if (has_broken_ || break_chunks())
            report();
        return;
    }
    std::uint64_t& reported = window_.qsbr_->qsbr_cnt[number_].cnt;
    if (due_ != 0 && !tickets_->is_out(due_ticket_))
        __atomic_store_n(&reported, std::exchange(due_, 0), __ATOMIC_RELEASE);
    if (due_ != 0 || __atomic_load_n(&reported, __ATOMIC_RELAXED) == token_)
        return;
    if (!tickets_->any_out())
        return report();
    due_ = token_;
    due_ticket_ = tickets_->last();
}

/// Marks the chunks that it has put packets into. Returns false when another member has the turn.
bool Member::break_chunks() noexcept {
    if (!window_.try_turn())
        return false;
    window_.break_chunks_of(number_);
    window_.end_turn();
    has_broken_ = true;
    return true;
}

bool Member::settled() noexcept {
    if (tickets_ == nullptr || left_)
        return true;
    if (tickets_->failed())
        return has_broken_ || break_chunks();
    if (!std::exchange(leaving_, true))
        leaving_ticket_ = tickets_->last();
    return !tickets_->is_out(leaving_ticket_);
}

void Member::look() noexcept {
    if (left_) [[unlikely]]
        return;
    go_online();
    refresh();
}

void Member::passed() noexcept {
    if (left_ || !online_) [[unlikely]]
        return;
    if (used_any_) {
        used_any_ = false;
        note_use();
    }
    if (tickets_ != nullptr) [[unlikely]]
        report_moved();
    else
        report();
    window_.try_hand_over();
}

bool Member::may_rest() const noexcept {
    if (tickets_ == nullptr) [[likely]]
        return true;
    return tickets_->failed() ? has_broken_ : !tickets_->any_out();
}

void Member::offline() noexcept {
    if (!online_ || left_)
        return;
    online_ = false;
    due_ = 0;
    std::fill(slots_.begin(), slots_.end(), nullptr);
    token_ = 0;
    head_ = -1;  // newest() refreshes then
    rte_rcu_qsbr_thread_offline(window_.qsbr_.get(), number_);
    // Of two members that go to sleep at once, one sees the other: nobody else may look.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    window_.try_hand_over();
}

void Member::expire(std::uint64_t now) noexcept {
    if (left_ || window_.config_.timeout_ticks == 0)
        return;
    note_use();
    if (!window_.try_turn())
        return;
    window_.close_idle(now);
    window_.end_turn();
    window_.try_hand_over();
}

void Member::leave() noexcept {
    if (left_)
        return;
    offline();
    left_ = true;
    rte_rcu_qsbr_thread_unregister(window_.qsbr_.get(), number_);
    window_.progress_[number_].position.store(ChunkWindow::kPassed, std::memory_order_release);
    const std::uint64_t own = std::uint64_t{1} << number_;
    // The last member finds the turn free: the others have ended theirs before they left.
    if (window_.joined_.fetch_and(~own, std::memory_order_acq_rel) == own && window_.try_turn()) {
        window_.close_all();
        window_.end_turn();
    }
}

}  // namespace spead::chunk
