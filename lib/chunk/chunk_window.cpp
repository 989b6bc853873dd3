// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_window.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>

#include "base/error.hpp"
#include "chunk/elapsed.hpp"

namespace spead::chunk {

namespace {

constexpr const char* kWhere = "chunk window";

rte_rcu_qsbr* make_qsbr() {
    const std::size_t bytes = rte_rcu_qsbr_get_memsize(kMaxMembers);
    auto* const qsbr = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    if (qsbr == nullptr)
        throw_error(kWhere, "no memory for its {} members", kMaxMembers);
    rte_rcu_qsbr_init(qsbr, kMaxMembers);
    return qsbr;
}

const ChunkWindowConfig& checked(const ChunkWindowConfig& config) {
    if (config.chunks == 0 || config.chunks > ChunkWindowConfig::kMaxChunks)
        throw_usage(kWhere, "a window of {} chunks: it has 1 to {}", config.chunks,
                    ChunkWindowConfig::kMaxChunks);
    if (config.max_jump > ChunkWindowConfig::kMostJump)
        throw_usage(kWhere, "max_jump {} is too large: at most {}", config.max_jump,
                    ChunkWindowConfig::kMostJump);
    return config;
}

}  // namespace

void ChunkWindow::FreeQsbr::operator()(rte_rcu_qsbr* qsbr) const noexcept {
    std::free(qsbr);
}

ChunkWindow::ChunkWindow(const ChunkWindowConfig& config, ChunkRing& ring)
    : config_(checked(config)),
      ring_(ring),
      qsbr_(make_qsbr()),
      mask_(std::bit_ceil(config.chunks) - 1),
      slots_(mask_ + 1),
      sources_(config.second_ticks),
      newest_(std::make_shared<std::atomic<std::int64_t>>(-1)),
      retired_(std::bit_ceil(ring.capacity())),
      wanted_(mask_ + 1, -1),
      resync_(std::max<std::uint64_t>(config.max_jump, config.chunks), config.second_ticks) {}

ChunkWindow::~ChunkWindow() {
    close_all();
}

std::size_t ChunkWindow::open() const noexcept {
    const std::uint64_t gone = counts_.handed_over.load(std::memory_order_relaxed);
    return counts_.opened.load(std::memory_order_relaxed) - gone;
}

std::uint32_t ChunkWindow::agree_on_parts(std::uint32_t part_bytes, std::uint64_t heap_bytes) noexcept {
    const std::uint64_t parts = (heap_bytes + part_bytes - 1) / part_bytes;
    std::uint64_t agreed = 0;
    if (!parts_.compare_exchange_strong(agreed, std::uint64_t{part_bytes} << 32 | parts,
                                        std::memory_order_acq_rel))
        return static_cast<std::uint32_t>(agreed >> 32);
    return part_bytes;
}

/// Decides whether a packet far from the open chunks tells the time. Returns true when its vote was the last
/// that was needed.
bool ChunkWindow::is_believed(std::int64_t id, std::uint32_t source, std::uint32_t votes,
                              std::uint64_t now) noexcept {
    if (active_at_ == 0 || elapsed(active_at_, now) > config_.second_ticks / 16) {
        active_at_ = now;
        active_ = sources_.count(now);
    }
    if (!resync_.vote(id, sources_.place_of(source), active_, now, votes))
        return false;
    restarts_.fetch_add(1, std::memory_order_release);
    former_chunks_ = 0;
    newest_->store(-1, std::memory_order_relaxed);
    close_all();
    counts_.resyncs.fetch_add(1, std::memory_order_relaxed);
    return true;
}

/// Returns whether a member may still need an id below `tail`.
bool ChunkWindow::is_behind(unsigned member, std::int64_t tail) const noexcept {
    if ((joined_.load(std::memory_order_acquire) >> member & 1) == 0)
        return false;
    const Progress& its = progress_[member];
    // If the window has begun anew without its notice, its position is one among the former ids.
    const bool knows =
        its.restarts.load(std::memory_order_acquire) == restarts_.load(std::memory_order_relaxed);
    const std::int64_t position = its.position.load(std::memory_order_acquire);
    return knows ? position < tail : position != kPassed;
}

/// Returns whether chunks below `tail` may leave: all other members have passed them, or patience is over.
bool ChunkWindow::may_advance(std::int64_t tail, unsigned member, std::uint64_t now) noexcept {
    if (config_.eviction == Eviction::lossy || !has_below(tail)) {
        waiting_since_ = 0;
        return true;
    }
    bool passed = true;
    for (unsigned i = 0; i < kMaxMembers; i++)
        passed &= i == member || !is_behind(i, tail);
    if (!passed) {
        if (waiting_since_ == 0)
            waiting_since_ = now;
        if (config_.patience_ticks == 0 || elapsed(waiting_since_, now) <= config_.patience_ticks)
            return false;
        counts_.out_waited.fetch_add(1, std::memory_order_relaxed);
        // They are waited for again when they have had packets.
        for (unsigned i = 0; i < kMaxMembers; i++)
            if (i != member && is_behind(i, tail))
                progress_[i].position.store(kPassed, std::memory_order_release);
    }
    waiting_since_ = 0;
    return true;
}

/// Moves the window so that `id` is its newest one.
void ChunkWindow::advance(std::int64_t id) noexcept {
    const std::int64_t before = head_.load(std::memory_order_relaxed);
    const std::int64_t tail = std::max<std::int64_t>(id - config_.chunks + 1, 0);
    if (tail > tail_.load(std::memory_order_relaxed))
        retire_below(tail);
    if (before < 0) {
        tail_.store(tail, std::memory_order_relaxed);
        first_ = cut_through_ = id;
        senders_ahead_.store(true, std::memory_order_relaxed);
    }
    head_.store(id, std::memory_order_relaxed);
    changed_ = true;
}

/// Opens chunks for all ids of the window before `id`. Returns false when one has none, for want of free
/// ones.
bool ChunkWindow::fill_below(std::int64_t id, std::uint64_t now) noexcept {
    for (std::int64_t i = tail_.load(std::memory_order_relaxed); i < id; i++)
        if (slot(i).load(std::memory_order_relaxed) == nullptr && install(i, now) == nullptr)
            return false;
    return true;
}

/// Returns whether a chunk with a lower id is open.
bool ChunkWindow::has_below(std::int64_t id) const noexcept {
    return std::any_of(slots_.begin(), slots_.end(), [id](const std::atomic<Chunk*>& slot) {
        const Chunk* const chunk = slot.load(std::memory_order_relaxed);
        return chunk != nullptr && chunk->id < id;
    });
}

/// Retires the open chunks with ids up to this one, the oldest first. Returns how many.
std::uint64_t ChunkWindow::retire_through(std::int64_t id) noexcept {
    const std::int64_t tail = tail_.load(std::memory_order_relaxed);
    const std::int64_t last = std::min(id, head_.load(std::memory_order_relaxed));
    std::uint64_t retired = 0;
    // Ids go up to the largest number: they are counted, not compared.
    for (std::int64_t left = last - tail, i = tail; left >= 0; left--) {
        std::atomic<Chunk*>& place = slot(i);
        if (Chunk* const chunk = place.load(std::memory_order_relaxed); chunk != nullptr) {
            place.store(nullptr, std::memory_order_relaxed);
            retired_[retired_end_++ & (retired_.size() - 1)] = {chunk, 0};
            retired++;
        }
        i += left != 0;
    }
    changed_ |= retired != 0;
    retired_count_.fetch_add(static_cast<std::uint32_t>(retired), std::memory_order_relaxed);
    return retired;
}

/// Retires the open chunks with lower ids, and makes these ids late. The id is above the tail. Ids before the
/// first one that came are not skipped: nobody sent them here.
void ChunkWindow::retire_below(std::int64_t id) noexcept {
    const std::int64_t from = std::clamp(first_, tail_.load(std::memory_order_relaxed), id);
    retire_through(from - 1);
    const std::uint64_t retired = retire_through(id - 1);
    if (head_.load(std::memory_order_relaxed) >= 0)
        counts_.skipped.fetch_add(static_cast<std::uint64_t>(id - from) - retired, std::memory_order_relaxed);
    tail_.store(id, std::memory_order_relaxed);
}

/// Returns whether the window that this one goes on from may have a chunk of the id open.
bool ChunkWindow::was_open_before(std::int64_t id) const noexcept {
    if (former_chunks_ == 0) [[likely]]
        return false;
    const std::int64_t newest = former_newest_->load(std::memory_order_relaxed);
    return id <= newest && id > newest - former_chunks_;
}

/// Finds the chunks that senders were inside of when the window began: their heaps of before never come. Such
/// a sender is ahead of the first one, and its next packet comes before any begins a chunk. `id`: the newest
/// one, before it has a chunk. `of`: the packet that needs it (Member::Request).
void ChunkWindow::note_sender_ahead(std::int64_t id, const Beginning& of) noexcept {
    if (id == first_)
        first_source_ = of.source;
    if (!looks_for_senders_ahead() || id <= cut_through_)
        return;
    // A sender that was in a chunk before was not ahead. Where senders take turns at a place, only the source
    // tells.
    const bool went_on = of.was_before && (of.has_own_place || of.source == first_source_);
    // Where no packet begins a chunk, nothing is known. Nor is it where another lcore may have that packet.
    const bool shared = !std::has_single_bit(joined_.load(std::memory_order_relaxed));
    if (shared || of.begins || went_on || id - first_ >= config_.chunks)
        senders_ahead_.store(false, std::memory_order_relaxed);
    else
        cut_through_ = id;
}

/// Opens a chunk for an id of the window that has none. Returns null when none is free.
Chunk* ChunkWindow::install(std::int64_t id, std::uint64_t now) noexcept {
    Chunk* const chunk = ring_.open();
    if (chunk == nullptr) {
        count_shortage(id);
        return nullptr;
    }
    chunk->id = id;
    chunk->cut = id <= cut_through_ || was_open_before(id);
    if (id > newest_->load(std::memory_order_relaxed))
        newest_->store(id, std::memory_order_relaxed);
    chunk->stream = config_.stream;
    chunk->opened = now;
    chunk->last_used.store(now, std::memory_order_relaxed);
    const std::uint64_t parts = parts_.load(std::memory_order_acquire);
    chunk->parts_per_heap = parts == 0 ? 1 : static_cast<std::uint32_t>(parts);
    slot(id).store(chunk, std::memory_order_release);
    counts_.opened.fetch_add(1, std::memory_order_relaxed);
    changed_ = true;
    return chunk;
}

/// Counts an id that found no free chunk once, however often it is asked for.
void ChunkWindow::count_shortage(std::int64_t id) noexcept {
    std::int64_t& wanted = wanted_[static_cast<std::uint64_t>(id) & mask_];
    if (std::exchange(wanted, id) != id)
        counts_.short_of.fetch_add(1, std::memory_order_relaxed);
}

/// Tells the members of changed slots. What was retired before is handed over when all have taken notice.
void ChunkWindow::publish() noexcept {
    if (!std::exchange(changed_, false))
        return;
    const std::uint64_t token = rte_rcu_qsbr_start(qsbr_.get());
    for (std::size_t i = retired_end_; i != retired_first_; i--) {
        Retired& r = retired_[(i - 1) & (retired_.size() - 1)];
        if (r.token != 0)
            break;
        r.token = token;
    }
    note_oldest();
}

/// Tells the members which token the oldest retired chunk waits for.
void ChunkWindow::note_oldest() noexcept {
    const bool any = retired_first_ != retired_end_;
    oldest_.store(any ? retired_[retired_first_ & (retired_.size() - 1)].token : 0,
                  std::memory_order_release);
}

/// Hands over what all members have let go. Returns whether there was any: then ring().wake(), without the
/// turn, because it may be a system call.
bool ChunkWindow::hand_over_retired() noexcept {
    bool any = false;
    while (retired_first_ != retired_end_) {
        const Retired& r = retired_[retired_first_ & (retired_.size() - 1)];
        if (rte_rcu_qsbr_check(qsbr_.get(), r.token, false) != 1)
            break;
        r.chunk->handed_over = rte_rdtsc();
        counts_.handed_over.fetch_add(1, std::memory_order_relaxed);
        ring_.hand_over(*r.chunk);
        retired_first_++;
        retired_count_.fetch_sub(1, std::memory_order_relaxed);
        any = true;
    }
    if (any)
        note_oldest();
    return any;
}

/// Returns whether all members have let the oldest retired chunk go. Writes nothing, so that members may ask
/// at every boundary while one of them stalls.
bool ChunkWindow::is_let_go() const noexcept {
    const std::uint64_t token = oldest_.load(std::memory_order_acquire);
    if (token == 0) [[likely]]
        return false;
    for (std::uint64_t left = joined_.load(std::memory_order_acquire); left != 0; left &= left - 1) {
        const rte_rcu_qsbr_cnt& member = qsbr_->qsbr_cnt[std::countr_zero(left)];
        const std::uint64_t reported = __atomic_load_n(&member.cnt, __ATOMIC_RELAXED);
        if (reported != __RTE_QSBR_CNT_THR_OFFLINE && reported < token)
            return false;
    }
    return true;
}

/// Hands over what it can if the turn is free. Otherwise the member that has the turn does.
void ChunkWindow::try_hand_over() noexcept {
    while (is_let_go() && try_turn()) {
        const bool any = hand_over_retired();
        end_turn();
        if (any)
            ring_.wake();
    }
}

/// Closes the oldest chunks that have had no packet for too long.
void ChunkWindow::close_idle(std::uint64_t now) noexcept {
    const std::int64_t head = head_.load(std::memory_order_relaxed);
    // The largest id has no successor that its packets could be later than: it stays until the end.
    for (std::int64_t i = tail_.load(std::memory_order_relaxed); i <= head && i != kPassed; i++) {
        Chunk* const chunk = slot(i).load(std::memory_order_relaxed);
        if (chunk == nullptr)
            continue;
        const std::uint64_t used = chunk->last_used.load(std::memory_order_relaxed);
        if (elapsed(used, now) <= config_.timeout_ticks)
            break;
        retire_below(i + 1);
        counts_.timed_out.fetch_add(1, std::memory_order_relaxed);
    }
    publish();
}

/// Marks the chunks that a member has put packets into. In its turn.
void ChunkWindow::break_chunks_of(unsigned member) noexcept {
    const auto mark = [member](Chunk* chunk) {
        if (chunk != nullptr && chunk->shares[member].first != 0)
            chunk->broken.store(true, std::memory_order_relaxed);
    };
    for (const std::atomic<Chunk*>& slot : slots_)
        mark(slot.load(std::memory_order_relaxed));
    for (std::size_t i = retired_first_; i != retired_end_; i++)
        mark(retired_[i & (retired_.size() - 1)].chunk);
}

/// Retires all chunks; the next packet begins a new window.
void ChunkWindow::close_all() noexcept {
    for (std::atomic<Chunk*>& slot : slots_)
        if (Chunk* const chunk = slot.load(std::memory_order_relaxed); chunk != nullptr)
            chunk->cut = true;
    // Ids may come again.
    std::fill(wanted_.begin(), wanted_.end(), -1);
    if (const std::int64_t head = head_.load(std::memory_order_relaxed); head >= 0)
        retire_through(head);
    head_.store(-1, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
    changed_ = true;
    waiting_since_ = 0;
    publish();
    if (hand_over_retired())
        ring_.wake();
}

}  // namespace spead::chunk
