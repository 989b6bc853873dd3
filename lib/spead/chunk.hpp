// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <spead/chunk_queue.hpp>
#include <spead/memory.hpp>
#include <spead/place_callback.hpp>
#include <spead/placement.hpp>
#include <spead/process.hpp>
#include <spead/recv.hpp>
#include <string>
#include <vector>

namespace spead {

namespace runtime {
class UserChunks;
}
namespace door {
struct ChunkLoan;
struct Placing;
}  // namespace door

/// Describes a chunk that its user has: a buffer with the heaps of some time, and a map of those that came.
struct Chunk {
    std::int64_t id = -1;  ///< number of the chunk in time, 0 and up; gaps are chunks that nothing came for
    std::uint32_t stream = 0;     ///< ChunkConfig::stream of the stream that filled it
    std::span<std::byte> data{};  ///< payload; undefined where no heap came
    /// Holds 1 for each heap that arrived, 0 for the others; for each packet, if the placement says so.
    std::span<std::uint8_t> present{};
    std::span<std::byte> extra{};      ///< extra values of each heap; undefined where no heap came
    std::uint64_t heaps_present = 0;   ///< heaps that arrived as a whole
    std::uint64_t heaps_expected = 0;  ///< heaps that it has room for
    std::uint64_t packets = 0;         ///< that were placed
    std::uint64_t doubled = 0;         ///< packets that two lcores placed at the same time
    /// Holds when an lcore took the first packet, and next the last one, in nanoseconds since 1970 by the
    /// machine's clock; 0: no packet came.
    std::uint64_t first_time = 0;
    std::uint64_t last_time = 0;
    void* user = nullptr;  ///< as it was added

    bool complete() const noexcept { return heaps_present == heaps_expected; }
};

/// Lends a chunk to the user: a move-only handle, whose end gives the chunk back to its ring. It is valid on
/// any thread, also after the ring, the streams and the session have ended. Giving back zeroes
/// Chunk::present. Different threads may use different handles at once.
class SPEAD_API ChunkPtr {
  public:
    ChunkPtr() noexcept;
    ChunkPtr(ChunkPtr&& other) noexcept;
    ChunkPtr& operator=(ChunkPtr&& other) noexcept;
    ChunkPtr(const ChunkPtr&) = delete;
    ChunkPtr& operator=(const ChunkPtr&) = delete;
    ~ChunkPtr();

    /// Returns false when the handle is empty; then it may not be dereferenced.
    explicit operator bool() const noexcept { return loan_ != nullptr; }
    const Chunk& operator*() const noexcept { return chunk_; }
    const Chunk* operator->() const noexcept { return &chunk_; }
    /// Gives the chunk back now. Does nothing when the handle is empty.
    void reset() noexcept;

  private:
    friend class ChunkRing;
    explicit ChunkPtr(std::unique_ptr<door::ChunkLoan> loan) noexcept;

    Chunk chunk_;
    std::unique_ptr<door::ChunkLoan> loan_;
};

/// Holds chunks: those that are free, and those that wait for the user. One or several streams fill them.
///
/// Any thread may call anything, several at once may take chunks; one iterator is for one thread. No thread
/// may use the ring while it is moved, assigned or destroyed. Streams and handles keep the chunks beyond the
/// ring's end. In a child of fork(2) what can throw throws Error.
class SPEAD_API ChunkRing {
  public:
    /// Makes a ring without chunks, with room for so many. Throws UsageError, Error.
    explicit ChunkRing(std::size_t chunks);
    /// Does the same. If the session ends before a stream has begun, so does the ring.
    ChunkRing(const Process& process, std::size_t chunks);
    /// Passes loose chunks from one queue to another, as its streams fill them. Those have a place callback
    /// with ChunkSizes::by_chunk. Users put chunks into `free`, and take them from `full`: here, what adds or
    /// takes chunks throws UsageError. Other rings may share the queues. Each stream counts as a producer of
    /// `full`, which stops when all have ended.
    ChunkRing(const ChunkQueue& free, const ChunkQueue& full);
    ChunkRing(ChunkRing&&) noexcept;
    ChunkRing& operator=(ChunkRing&&) noexcept;
    ~ChunkRing();

    // Add all chunks before the first stream. All have the same sizes. These throw UsageError,
    // with the sums, for chunks that do not suit them, and for more than there is room for.

    /// Adds chunks in memory of our own: huge pages if enough are free. Throws Error when the machine has not
    /// so much.
    void add(const Placement& placement, std::size_t chunks);
    /// Adds a chunk in memory of the user's, who keeps it until the ring, its streams and its handles are
    /// gone: Placement says how much of each. `present` is zeroed.
    void add(const Placement& placement, std::span<std::byte> data, std::span<std::uint8_t> present,
             std::span<std::byte> extra = {}, void* user = nullptr);
    /// Adds a chunk whose `data` lies in this memory. The ring, its streams and its handles keep the memory,
    /// so the user's own handle may go. `present` and `extra` may lie there, too; elsewhere the user keeps
    /// them. Throws UsageError, too, for other `data`.
    void add(const Placement& placement, const Memory& memory, std::span<std::byte> data,
             std::span<std::uint8_t> present, std::span<std::byte> extra = {}, void* user = nullptr);
    /// Does so for streams whose heaps a callback places.
    void add(const ChunkSizes& sizes, std::size_t chunks);
    void add(const ChunkSizes& sizes, const Memory& memory, std::span<std::byte> data,
             std::span<std::uint8_t> present, std::span<std::byte> extra = {}, void* user = nullptr);
    void add(const ChunkSizes& sizes, std::span<std::byte> data, std::span<std::uint8_t> present,
             std::span<std::byte> extra = {}, void* user = nullptr);

    /// Waits for the next chunk. Empty: all streams of the ring have ended, or the session, and all their
    /// chunks were taken; or stop() was called.
    ChunkPtr get();
    /// Does the same with a limit: empty, too, when the time is over.
    ChunkPtr get_for(std::chrono::nanoseconds patience);
    /// Takes a waiting chunk. When there is none, fd() becomes readable with the next one.
    ChunkPtr try_get();
    /// Returns whether no chunk waits, and none comes unless a stream starts.
    bool ended() const noexcept;
    /// Returns a descriptor for poll, epoll and asynchronous frameworks. It becomes readable when a chunk or
    /// the end comes after try_get() has found nothing. After the end it stays readable. Owned by the ring.
    int fd() const noexcept;
    /// Ends the taking of chunks, for good and at once: waiting ones stay. Streams run on, and find no free
    /// chunk.
    void stop() noexcept;

    /// Counts the chunks that were added: each is in one of these places.
    struct Counts {
        std::size_t chunks = 0;
        std::size_t free = 0;
        std::size_t open = 0;     ///< streams fill them
        std::size_t waiting = 0;  ///< for the user
        std::size_t held = 0;     ///< by the user
    };
    /// Returns the counts; exact when nothing moves.
    Counts counts() const;

    /// Iterates until the ring ends: for (const spead::ChunkPtr& chunk : ring). A chunk goes back when its
    /// turn is over, unless it was moved away.
    class iterator {  // NOLINT(readability-identifier-naming): as containers call it
      public:
        using value_type = ChunkPtr;
        using difference_type = std::ptrdiff_t;
        iterator() = default;
        explicit iterator(ChunkRing& ring) : ring_(&ring) { ++*this; }
        const ChunkPtr& operator*() const { return chunk_; }
        ChunkPtr& operator*() { return chunk_; }
        iterator& operator++() {
            chunk_.reset();  // free before the wait
            chunk_ = ring_->get();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const noexcept { return !chunk_; }

      private:
        ChunkRing* ring_ = nullptr;
        ChunkPtr chunk_;
    };
    iterator begin() { return iterator(*this); }
    std::default_sentinel_t end() const noexcept { return {}; }

  private:
    friend class ChunkStream;
    friend class ChunkStreamGroup;
    struct State;
    std::unique_ptr<State> state_;
};

/// Says when a chunk leaves the window because a newer one needs its place: at once, or when every lcore has
/// passed it.
enum class Eviction : std::uint8_t { lossy, lossless };

/// Describes how a stream fills chunks (docs/chunks.md).
struct ChunkConfig {
    /// Holds the chunks that are open at a time, 1 to 256; fewer than the ring has, or with `back_fill` as
    /// many.
    std::uint32_t window = 2;
    Eviction eviction = Eviction::lossy;
    std::chrono::nanoseconds timeout{0};  ///< hands a chunk over after so long without a packet; 0: never
    /// Limits how long lcores wait for those behind them (lossless); 0: no limit.
    std::chrono::nanoseconds patience = std::chrono::seconds(10);
    /// Holds the chunks past the window that a single packet is believed; 0: any number; empty: 8 windows.
    std::optional<std::uint64_t> max_jump{};
    /// Opens chunks for the ids of the window that no packet came for, too, as spead2 does. A source that
    /// loses nothing by waiting waits until each has one.
    bool back_fill = false;
    std::uint32_t stream = 0;  ///< Chunk::stream
};

/// Counts since the stream was made (docs/counters.md).
///
/// packets = placed + duplicate + late + future + no_chunk + no_memory + filtered + held + control +
/// stopped + captured + rejected. Chunks opened = handed over + open.
struct ChunkStats {
    std::uint64_t packets = 0;            ///< addressed to the stream, as far as a receive queue had room
    std::uint64_t packets_placed = 0;     ///< put into a chunk
    std::uint64_t packets_duplicate = 0;  ///< brought nothing new
    std::uint64_t packets_late = 0;       ///< came after their chunk had left the window
    std::uint64_t packets_future = 0;     ///< were too far ahead to be believed
    std::uint64_t packets_no_chunk = 0;   ///< found no free chunk
    std::uint64_t packets_no_memory = 0;  ///< found too many live heaps
    std::uint64_t packets_filtered = 0;   ///< dropped by the filter
    std::uint64_t packets_held = 0;       ///< taken by the filter (HeldPacket)
    std::uint64_t held_now = 0;           ///< of packets_held: not given back
    std::uint64_t hold_refused = 0;       ///< kept or dropped, because the filter held `held_buffers`
    std::uint64_t packets_control = 0;    ///< of heaps that carry only stream control
    std::uint64_t packets_stopped = 0;    ///< came when the stream had been stopped by a stop item
    std::uint64_t packets_captured = 0;   ///< ended in a capture
    std::uint64_t packets_rejected = 0;   ///< malformed, or not as the placement says
    std::uint64_t packets_lost = 0;  ///< not in `packets`: the port's queue overflowed; of all its streams
    std::uint64_t bytes = 0;         ///< payload placed into chunks
    std::uint64_t chunks_opened = 0;
    std::uint64_t chunks_handed_over = 0;
    std::uint64_t chunks_timed_out = 0;  ///< of those handed over
    std::uint64_t chunks_skipped = 0;    ///< ids that left the window without a chunk
    std::uint64_t chunks_taken = 0;      ///< by the user
    std::uint64_t chunks_complete = 0;   ///< of those taken
    std::uint64_t heaps_present = 0;     ///< in those taken
    std::uint64_t heaps_expected = 0;    ///< in those taken
    std::uint64_t doubled = 0;           ///< packets that two lcores placed at the same time, in those taken
    // Where a heap's first packet tells its place, of the heaps that have one:
    std::uint64_t heaps_evicted = 0;  ///< given up for newer ones, with their chunk, or after heap_timeout
    std::uint64_t heaps_flushed = 0;  ///< given up at the end
    std::uint64_t heaps_late = 0;     ///< heaps of packets_late, where a heap's first packet tells its place
    std::uint64_t resyncs = 0;        ///< jumps of the time that were believed after a vote
    // Of a stream without a session.
    std::uint64_t bursts = 0;         ///< of packets that came together
    std::uint64_t largest_burst = 0;  ///< packets of one
    std::uint64_t blocked = 0;        ///< times that its source began to wait for a free chunk
    // Of a place callback.
    std::uint64_t callback_calls = 0;
    std::uint64_t callback_heaps = 0;  ///< that it was asked about
    std::chrono::nanoseconds callback_time{0};
    std::uint64_t callback_rejected = 0;  ///< heaps that it refused
    std::uint64_t callback_nonsense = 0;  ///< heaps that it put outside the chunk; their packets are rejected
};

/// Receives heaps into the chunks of a ring; all lcores of the stream fill the same ones. Any thread may call
/// anything. No thread may use the stream while it is moved, assigned or destroyed. A stream that was moved
/// from has ended: what can throw throws UsageError.
///
/// Destroying or stopping the stream hands its open chunks over. When all streams of the ring have ended, by
/// stop(), a stop item, the end of a file or of the session, so has the ring.
class SPEAD_API ChunkStream {
  public:
    /// Opens the port, unless another stream has; takes lcores; joins the groups. Of `config`, `memory`,
    /// `max_heap_bytes` and `queue_depth` have no effect; neither has `in_order` with a placement; `lend`,
    /// `control_heaps` and OnFull::drop_oldest are refused. `max_heaps`, `substreams` and `heap_timeout` are
    /// for heaps of which only the first packet tells the place. OnFull::block lets a source wait for a free
    /// chunk. Throws Error and UsageError; then there is no such stream.
    ChunkStream(const Process& process, const RecvConfig& config, const Placement& placement, ChunkRing& ring,
                const ChunkConfig& chunks = {});
    /// Does so with a callback that places the heaps. `max_heaps`, `substreams` and `heap_timeout` are for
    /// heaps that arrive at the same time. Its function and `user` are called until the stream is stopped or
    /// destroyed, and never afterwards.
    ChunkStream(const Process& process, const RecvConfig& config, const PlaceCallback& callback,
                ChunkRing& ring, const ChunkConfig& chunks = {});
    /// Receives without a session and without EAL, as RecvStream does: through sockets of the kernel
    /// (`backend` is Backend::kernel).
    ChunkStream(const RecvConfig& config, const Placement& placement, ChunkRing& ring,
                const ChunkConfig& chunks = {});
    ChunkStream(const RecvConfig& config, const PlaceCallback& callback, ChunkRing& ring,
                const ChunkConfig& chunks = {});
    /// Does the same from another source (spead/readers.hpp). Placement and counts are those of a port.
    ChunkStream(const RecvConfig& config, const Reader& reader, const Placement& placement, ChunkRing& ring,
                const ChunkConfig& chunks = {});
    ChunkStream(const RecvConfig& config, const Reader& reader, const PlaceCallback& callback,
                ChunkRing& ring, const ChunkConfig& chunks = {});
    ChunkStream(ChunkStream&&) noexcept;
    ChunkStream& operator=(ChunkStream&&) noexcept;
    ~ChunkStream();

    /// Returns the name; empty after a move.
    const std::string& name() const noexcept;
    /// Receives (again), with a new window. Throws Error, and has changed nothing, when it cannot.
    void start();
    /// Receives no more, and hands the open chunks over. Does nothing when the session has ended. Without a
    /// session, a callback that does not return within 2 s is logged; the stream ends when it has returned.
    void stop() noexcept;
    /// Receives from one more source, as RecvStream::add_reader does.
    void add_reader(const Reader& reader);
    /// Returns whether it receives nothing now, and has handed its chunks over: it writes to none of them.
    bool idle() const noexcept;
    /// Returns the counts, from the lcores. After the end of the session: its last counts. Without a session:
    /// earlier ones, if a callback does not return within 2 s.
    ChunkStats stats() const;
    /// Returns the values of PlaceCallback::stats, of all lcores and since the stream was made; exact when no
    /// heaps come.
    std::vector<std::uint64_t> callback_stats() const;

  private:
    friend class ChunkStreamGroup;
    struct State;
    explicit ChunkStream(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// Lets several streams, of several ports perhaps, fill the same chunks: heaps of all of them go into one
/// window. Any thread may call anything. No thread may use the group while it is moved, assigned or
/// destroyed. Its streams live on without it.
///
/// If `chunks` are lossy, a stream that lags loses packets, as `late`. If they are lossless, sources that can
/// wait do so for the streams behind them, for `patience` at most. A stream that has ended is not waited for.
/// Members on one receive queue share a source: they cannot wait for each other.
class SPEAD_API ChunkStreamGroup {
  public:
    /// Throws UsageError when the ring's chunks are not made for this.
    ChunkStreamGroup(const Process& process, const Placement& placement, ChunkRing& ring,
                     const ChunkConfig& chunks = {});
    ChunkStreamGroup(const Process& process, const PlaceCallback& callback, ChunkRing& ring,
                     const ChunkConfig& chunks = {});
    /// Makes a group of streams without a session and without EAL.
    ChunkStreamGroup(const Placement& placement, ChunkRing& ring, const ChunkConfig& chunks = {});
    ChunkStreamGroup(const PlaceCallback& callback, ChunkRing& ring, const ChunkConfig& chunks = {});
    ChunkStreamGroup(ChunkStreamGroup&&) noexcept;
    ChunkStreamGroup& operator=(ChunkStreamGroup&&) noexcept;
    ~ChunkStreamGroup();

    /// Adds a stream as ChunkStream does. It receives from start() on: its own, or the group's, which lets no
    /// stream run ahead of others. Its stats() have packets of its own, and the group's chunks.
    ChunkStream add(const RecvConfig& config);
    /// Does so with a placement that differs from the group's in the numbers of `constant` terms. Throws
    /// UsageError for others.
    ChunkStream add(const RecvConfig& config, const Placement& placement);
    /// Adds a stream with another source, to a group without a session; there, the others need
    /// Backend::kernel. Throws UsageError for a group with a session, whose streams have ports.
    ChunkStream add(const RecvConfig& config, const Reader& reader);
    ChunkStream add(const RecvConfig& config, const Reader& reader, const Placement& placement);
    /// Adds a stream with a callback of its own, whose chunks are those of the group's. Throws UsageError for
    /// a group with a Placement.
    ChunkStream add(const RecvConfig& config, const PlaceCallback& callback);
    ChunkStream add(const RecvConfig& config, const Reader& reader, const PlaceCallback& callback);
    /// Starts all streams at once; those that have ended, again. Throws Error, and has changed nothing, when
    /// it cannot.
    void start();
    /// Stops all streams.
    void stop() noexcept;

  private:
    struct State;
    static ChunkStream add_to(State& state, const RecvConfig& config, const Reader* reader,
                              const door::Placing& placing);

    std::unique_ptr<State> state_;
};

}  // namespace spead
