// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/setting_limits.hpp"
#include "chunk/chunk.hpp"
#include "chunk/chunk_ring.hpp"
#include "chunk/resync.hpp"
#include "heap/tickets.hpp"

struct rte_rcu_qsbr;

namespace spead::chunk {

/// Says when a chunk leaves the window because a newer one needs its place.
enum class Eviction : std::uint8_t {
    lossy,     ///< at once
    lossless,  ///< when every member has passed it
};

struct ChunkWindowConfig {
    static constexpr std::uint32_t kMaxChunks = kMostOpenChunks;
    static constexpr std::uint64_t kMostJump = std::numeric_limits<std::int64_t>::max() / 4;

    std::uint32_t chunks = 2;  ///< ids that may be open at a time, 1..kMaxChunks
    Eviction eviction = Eviction::lossy;
    std::uint64_t timeout_ticks = 0;  ///< closes a chunk after so long without a packet; 0: never
    /// Limits how long members wait for those that have not passed a chunk (lossless); then it leaves
    /// nevertheless. 0: no limit.
    std::uint64_t patience_ticks = 0;
    /// Limits the chunks past either end of the window that a single packet is believed; others vote
    /// (Resync). 0: every packet is believed, and nothing moves the window back.
    std::uint64_t max_jump = 0;
    std::uint64_t second_ticks = 1;  ///< of the lcores' clock
    /// Opens chunks for skipped ids of the window, too, as spead2 does. A source that can wait does so until
    /// each has one.
    bool back_fill = false;
    std::uint32_t stream = 0;  ///< Chunk::stream
};

/// Counts what happened to a window's chunks. Written by the member that has the turn. Any thread reads them,
/// one by one.
struct WindowCounts {
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> handed_over{0};
    std::atomic<std::uint64_t> timed_out{0};   ///< of those that left the window
    std::atomic<std::uint64_t> short_of{0};    ///< ids that were wanted while no chunk was free
    std::atomic<std::uint64_t> skipped{0};     ///< ids that left the window without a chunk
    std::atomic<std::uint64_t> resyncs{0};     ///< jumps that were believed after a vote
    std::atomic<std::uint64_t> out_waited{0};  ///< times that patience ended (lossless)
    /// Counts packets that were late by more than max_jump chunks, and not believed.
    std::atomic<std::uint64_t> long_past{0};
};

/// Holds the open chunks of one sequence, which several lcores (members) fill together, without locks and
/// without atomics per packet.
///
/// The slots, by id modulo `chunks`, a token that moves with every change, and the turn are shared. Each
/// member has a copy of the slots, which it refreshes between batches when the token has moved. A member
/// whose packet needs a chunk that is not open tries to get the turn once. With the turn it retires the
/// oldest chunks and installs a free one; without it, the packet is tried again at the end of the batch. A
/// retired chunk is handed over when every online member has passed a batch boundary (rte_rcu_qsbr): then no
/// copy into it is outstanding.
class ChunkWindow {
  public:
    /// Refers to the ring, which outlives the window. Throws Error, UsageError.
    ChunkWindow(const ChunkWindowConfig& config, ChunkRing& ring);
    /// Hands open chunks over; all members are gone.
    ~ChunkWindow();
    ChunkWindow(const ChunkWindow&) = delete;
    ChunkWindow& operator=(const ChunkWindow&) = delete;

    const ChunkWindowConfig& config() const noexcept { return config_; }
    ChunkRing& ring() const noexcept { return ring_; }
    const WindowCounts& counts() const noexcept { return counts_; }
    /// Returns the chunks that are open, or retired and not handed over: opened - handed_over. Any thread.
    std::size_t open() const noexcept;
    /// Returns those of them that are retired. Any thread.
    std::size_t retired() const noexcept { return retired_count_.load(std::memory_order_relaxed); }
    /// Returns the highest id of the window; -1: none was opened yet. Any thread.
    std::int64_t head() const noexcept { return head_.load(std::memory_order_relaxed); }
    /// Says that `former`, with the same ids, ends as this one begins. The chunks that it had open are cut
    /// here, too: some of their heaps are there. Before the first packet.
    void goes_on_from(const ChunkWindow& former) noexcept {
        const bool has_begun = former.newest_->load(std::memory_order_relaxed) >= 0;
        former_newest_ = has_begun || !former.former_newest_ ? former.newest_ : former.former_newest_;
        former_chunks_ = former.config_.chunks;
    }
    /// Says, and tells, that only the first packets of heaps have the items of the placement. Any thread.
    void note_tracked() noexcept { tracked_.store(true, std::memory_order_release); }
    bool is_tracked() const noexcept { return tracked_.load(std::memory_order_acquire); }
    /// Agrees on the payload bytes of a packet, and so on the parts of a heap of `heap_bytes`: the first one
    /// to say so decides. Returns the agreed bytes.
    std::uint32_t agree_on_parts(std::uint32_t part_bytes, std::uint64_t heap_bytes) noexcept;
    /// Notes that a source is active. Any member, in its NoteTurn.
    void note_source(std::uint32_t source, std::uint64_t now) noexcept { sources_.note(source, now); }
    /// Returns whether Member::Request::was_before may matter: at the beginning of the window. Any member.
    bool looks_for_senders_ahead() const noexcept { return senders_ahead_.load(std::memory_order_relaxed); }

  private:
    friend class Member;

    /// Stands for the position of a member that is not waited for: it has passed all ids.
    static constexpr std::int64_t kPassed = std::numeric_limits<std::int64_t>::max();
    /// Stands for the position of a member that has had no packet yet.
    static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

    /// Holds how far a member has come. Written by the member; patience that ends writes kPassed.
    struct alignas(64) Progress {
        std::atomic<std::int64_t> position{kPassed};  ///< lowest id that it may still need
        std::atomic<std::uint32_t> restarts{0};       ///< those that it has taken notice of
    };
    struct Retired {
        Chunk* chunk;
        std::uint64_t token;
    };
    struct FreeQsbr {
        void operator()(rte_rcu_qsbr* qsbr) const noexcept;
    };

    bool try_turn() noexcept { return !turn_.exchange(true, std::memory_order_acq_rel); }
    /// Ends the turn. What a member did before it tried in vain is seen afterwards: hence an exchange.
    void end_turn() noexcept { turn_.exchange(false, std::memory_order_acq_rel); }
    bool is_let_go() const noexcept;
    void try_hand_over() noexcept;
    std::atomic<Chunk*>& slot(std::int64_t id) noexcept {
        return slots_[static_cast<std::uint64_t>(id) & mask_];
    }

    // With the turn:
    bool is_believed(std::int64_t id, std::uint32_t source, std::uint32_t votes, std::uint64_t now) noexcept;
    bool is_behind(unsigned member, std::int64_t tail) const noexcept;
    bool may_advance(std::int64_t tail, unsigned member, std::uint64_t now) noexcept;
    void advance(std::int64_t id) noexcept;
    bool fill_below(std::int64_t id, std::uint64_t now) noexcept;
    bool has_below(std::int64_t id) const noexcept;
    std::uint64_t retire_through(std::int64_t id) noexcept;
    void retire_below(std::int64_t id) noexcept;
    Chunk* install(std::int64_t id, std::uint64_t now) noexcept;
    struct Beginning {
        std::uint32_t source;
        bool begins;
        bool was_before;
        bool has_own_place;
    };
    void note_sender_ahead(std::int64_t id, const Beginning& of) noexcept;
    bool was_open_before(std::int64_t id) const noexcept;
    void count_shortage(std::int64_t id) noexcept;
    void publish() noexcept;
    void note_oldest() noexcept;
    bool hand_over_retired() noexcept;
    void close_idle(std::uint64_t now) noexcept;
    void close_all() noexcept;
    void break_chunks_of(unsigned member) noexcept;

    ChunkWindowConfig config_;
    ChunkRing& ring_;
    WindowCounts counts_;
    std::unique_ptr<rte_rcu_qsbr, FreeQsbr> qsbr_;
    std::uint64_t mask_;
    std::vector<std::atomic<Chunk*>> slots_;      ///< by id & mask_
    std::array<Progress, kMaxMembers> progress_;  ///< by the member's number
    std::atomic<std::uint64_t> joined_{0};        ///< a bit for each member
    alignas(64) std::atomic<bool> turn_{false};
    alignas(64) std::atomic<std::int64_t> head_{-1};
    std::atomic<std::int64_t> tail_{0};  ///< lower ids are late
    std::atomic<std::uint32_t> retired_count_{0};
    std::atomic<std::uint64_t> oldest_{0};  ///< token of the oldest retired chunk; 0: none
    /// Holds the payload bytes of a packet << 32 | the parts of a heap; 0: not agreed yet.
    std::atomic<std::uint64_t> parts_{0};
    std::atomic<std::uint32_t> restarts_{0};  ///< times that the window began anew after a vote
    std::atomic<bool> tracked_{false};
    ActiveSources sources_;
    /// Holds the highest id that ever had a chunk; -1: none had. Windows that go on from this one read it.
    std::shared_ptr<std::atomic<std::int64_t>> newest_;
    std::shared_ptr<const std::atomic<std::int64_t>> former_newest_;
    // Guarded by the turn.
    std::vector<Retired> retired_;  ///< ring of a power of two, in order of retirement
    std::size_t retired_first_ = 0;
    std::size_t retired_end_ = 0;
    bool changed_ = false;            ///< slots, since the last token
    std::int64_t first_ = -1;         ///< id that the window began with
    std::uint32_t first_source_ = 0;  ///< of the packet that it began with
    std::int64_t cut_through_ = -1;   ///< highest id that a sender was inside of when the window began
    std::atomic<bool> senders_ahead_{false};  ///< others may have been inside of higher ones
    std::uint32_t former_chunks_ = 0;   ///< of the window that this one goes on from; 0: ids are others now
    std::vector<std::int64_t> wanted_;  ///< by slot: the last id that found no free chunk; -1: none
    Resync resync_;
    std::size_t active_ = 0;           ///< sources
    std::uint64_t active_at_ = 0;      ///< ticks of that count
    std::uint64_t waiting_since_ = 0;  ///< ticks; 0: no member waits
};

/// Takes part in a window for one lcore. Belongs to that lcore from its first boundary() on, and to control
/// code before and after.
class Member {
  public:
    /// Joins. Control code, at any time. Throws UsageError: too many members.
    explicit Member(ChunkWindow& window);
    /// Leaves, if leave() was not called. Control code; the lcore does not use it any more.
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    /// Leaves its copies to an engine that makes them later, in batches that `tickets` number; it outlives
    /// the member. boundary() then lets chunks go when the copies that were listed before have been made. If
    /// the engine fails, the chunks that this member has put packets into are broken. Before the first
    /// packet.
    void copied_by(const heap::Tickets& tickets) noexcept { tickets_ = &tickets; }
    /// Returns whether it may leave, with no packets to come: no copy of its own is out any more, and what
    /// the engine has lost is marked. Ask again after the next batches otherwise. True without an engine.
    bool settled() noexcept;

    /// Says why a packet has no chunk.
    enum class Missing : std::uint8_t {
        none,      ///< it has one
        late,      ///< its id is before the window
        no_chunk,  ///< no chunk is free
        future,    ///< its id is too far ahead, and it has voted
        busy,      ///< another member has the turn: ask again after the batch
        waits,     ///< a member has not passed the oldest chunk (lossless), or no chunk is free: a lossless
                   ///< source asks again later
    };

    /// Returns the open chunk of an id; null: ask open().
    Chunk* find(std::int64_t id) const noexcept {
        Chunk* const chunk = slots_[static_cast<std::uint64_t>(id) & mask_];
        return chunk != nullptr && chunk->id == id ? chunk : nullptr;
    }
    /// Describes a packet that needs a chunk.
    struct Request {
        std::int64_t id;          ///< of the chunk; far below 0: before all
        std::int64_t anew;        ///< of the chunk if the window begins anew: without the wraps before
        std::uint32_t source;     ///< IPv4 address
        bool can_wait;            ///< its source loses nothing by waiting
        std::uint64_t now;        ///< ticks
        std::uint32_t votes = 1;  ///< packets that it stands for
        bool begins = true;       ///< its sender may have sent nothing of the chunk before
        /// Says that packets with its place came for a chunk before: what is missing of this one was lost on
        /// the way, or comes later.
        bool was_before = false;
        bool has_own_place = true;  ///< no other sender's packets have the same one
    };
    /// Opens the chunk of a packet; it may have the id `anew`.
    Chunk* open(const Request& r, Missing& missing) noexcept;
    /// Ends a batch: no copy of this member is outstanding. Refreshes the slots, and hands retired chunks
    /// over if it can. Also between polls without packets. Returns true when chunks have left: live heaps in
    /// chunks that find() does not return must be given up.
    bool boundary() noexcept;
    /// Does boundary() in two steps, for a member whose heaps may write to a chunk in several batches. look()
    /// refreshes the slots. Then the member writes its last to chunks that find() does not return any more.
    /// passed() says that it has: a chunk that left after look() is not handed over.
    void look() noexcept;
    void passed() noexcept;
    /// Returns a number that moves with every refresh that found changes; 0: it has no slots.
    std::uint64_t token() const noexcept { return token_; }
    /// Returns whether an engine has made all copies of this member, or its chunks without them are marked.
    bool may_rest() const noexcept;
    /// Says that the lcore is going to sleep, with no copy outstanding: may_rest(); boundary() ends that.
    void offline() noexcept;
    /// Closes chunks without packets (timeout_ticks). Every few milliseconds, between batches.
    void expire(std::uint64_t now) noexcept;
    /// Leaves: no packets come any more. With the last member all chunks leave the window.
    void leave() noexcept;
    bool has_left() const noexcept { return left_; }

    ChunkWindow& window() const noexcept { return window_; }
    unsigned number() const noexcept { return number_; }
    /// Returns the highest id of the window when it was last refreshed; -1: none. Goes online.
    std::int64_t newest() noexcept {
        if (head_ < 0) [[unlikely]] {
            go_online();
            refresh();
        }
        return head_;
    }
    /// Notes that a packet was placed into the chunk, for timeouts and lossless eviction.
    void used(Chunk& chunk) noexcept {
        highest_ = chunk.id > highest_ ? chunk.id : highest_;
        used_any_ = true;
        if (has_broken_) [[unlikely]]
            chunk.broken.store(true, std::memory_order_relaxed);
    }
    /// Does used() for a chunk that a packet was placed into since the slots were refreshed.
    void used_again() noexcept { used_any_ = true; }

  private:
    bool refresh() noexcept;
    void go_online() noexcept;
    Chunk* open_in_turn(const Request& r, Missing& missing) noexcept;
    void note_restart() noexcept;
    bool lags(const Request& r) noexcept;
    void note_position() noexcept;
    void note_use() noexcept;
    void report() noexcept;
    void report_moved() noexcept;
    bool break_chunks() noexcept;

    ChunkWindow& window_;
    unsigned number_;
    std::uint64_t mask_;
    std::vector<Chunk*> slots_;                 ///< copy
    std::int64_t head_ = -1;                    ///< copy
    std::int64_t tail_ = 0;                     ///< copy
    std::uint64_t token_ = 0;                   ///< of the copy
    std::int64_t highest_ = -1;                 ///< id of its packets since the window began anew
    std::int64_t former_ = -1;                  ///< highest_ before the window began anew
    std::int64_t lags_from_ = -1;               ///< id that its packets went on from when it lagged last
    std::uint64_t lags_since_ = 0;              ///< ticks
    std::uint32_t restarts_ = 0;                ///< that it has taken notice of
    const heap::Tickets* tickets_ = nullptr;    ///< null: it copies itself, before each boundary
    std::uint64_t due_ = 0;                     ///< token to report when copies have been made; 0: none
    heap::Tickets::Ticket due_ticket_ = 0;      ///< of the last of these copies
    heap::Tickets::Ticket leaving_ticket_ = 0;  ///< of its last copy, once it leaves
    bool leaving_ = false;
    bool has_broken_ = false;  ///< the engine has failed, and its chunks are marked
    bool used_any_ = false;    ///< since the last boundary
    bool online_ = false;
    bool left_ = false;
};

}  // namespace spead::chunk
