// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chunk/callback.hpp"
#include "chunk/chunk_ring.hpp"
#include "chunk/placement.hpp"
#include "memory/mapping.hpp"
#include "runtime/chunk_tally.hpp"

namespace spead::runtime {

class ChunkGroup;
struct ChunkPlan;

/// Says what chunks look like, and who says so.
struct ChunkShape {
    /// Throws UsageError for a placement that is not possible.
    ChunkShape(const chunk::Placement& p);  // NOLINT(google-explicit-constructor): it is one
    /// Takes the sizes of a callback's chunks; its function is not looked at. Throws UsageError.
    explicit ChunkShape(const chunk::PlaceCallback& sizes);

    chunk::Layout layout;
    std::optional<chunk::Placement> placement;  ///< none: a callback places the heaps
    bool loose = false;                         ///< each chunk has sizes of its own
    std::string text;                           ///< "the placement `...`"
};

/// Holds chunks that a user takes, and joins the streams that fill them with the user's threads: the
/// interface between the engine and these. Streams, users and taken chunks share it; the last one destroys
/// it.
///
/// Any thread may call every function. A mutex guards what lcores do not touch; no lcore ever takes it, and
/// no thread holds it while waiting.
class UserChunks {
  public:
    /// Counts for one stream, over all of its fillings.
    struct Totals {
        std::atomic<int> filling{0};  ///< fillings that have not ended
        ChunkTally tally;             ///< without what was given back
    };
    /// Describes a stream that fills the chunks, or did.
    struct Filler {
        std::uint32_t tag = 0;           ///< the user's number of the stream
        std::int64_t most_ids = 0;       ///< ChunkTally::take()
        std::shared_ptr<Totals> totals;  ///< of its stream; null: nobody asks
        ChunkTally tally;
        bool ended = false;  ///< guarded
    };

    /// Makes room for up to `chunks` chunks. Throws UsageError, Error.
    explicit UserChunks(std::size_t chunks) : ring_(chunks) {}
    /// Passes chunks from one queue of the user's to another. The user's side is theirs. Throws Error.
    UserChunks(std::shared_ptr<chunk::ChunkQueue> free, std::shared_ptr<chunk::ChunkQueue> data)
        : ring_(std::move(free), std::move(data)) {}
    UserChunks(const UserChunks&) = delete;
    UserChunks& operator=(const UserChunks&) = delete;

    // Before streams fill them. Each throws UsageError for a part that is too small, for too many chunks, for
    // chunks of another layout than those before, and when a stream fills them already.

    /// Adds chunks in memory of our own: huge pages if enough are free. Throws Error: not enough memory.
    void add(const ChunkShape& shape, std::size_t chunks);
    /// Adds a chunk in memory of the user's, which outlives this object.
    void add(const ChunkShape& shape, std::span<std::byte> data, std::span<std::uint8_t> present,
             std::span<std::byte> extra, void* user);

    // The engine's side.

    /// Says which chunks a stream fills, and its number there.
    struct Use {
        std::shared_ptr<UserChunks> chunks;  ///< null: none
        std::uint32_t tag = 0;
        std::shared_ptr<Totals> totals;  ///< may be null
        /// Returns the place callback of a lane; empty: the plan has a placement.
        std::function<chunk::PlaceCallback()> make_callback{};
        std::shared_ptr<ChunkGroup> group{};  ///< of the streams that fill them together; null: none others
        /// Counts the stream's own parts that have not ended; may be null.
        std::shared_ptr<std::atomic<int>> open{};
        /// Is called at the end of each of its parts that has started, on the thread that ends it; may be
        /// empty.
        std::function<void()> at_end{};
    };
    /// Lives as long as a stream fills the chunks.
    class Filling {
      public:
        /// Throws UsageError unless the chunks have this shape, and are enough for the plan's window.
        Filling(const Use& use, const ChunkShape& shape, const ChunkPlan& plan, std::int64_t most_ids);
        ~Filling() { end(); }
        Filling(const Filling&) = delete;
        Filling& operator=(const Filling&) = delete;
        /// Says that the stream has started. Until then it may end without a trace, since its start may fail.
        void serve() noexcept;
        /// Says that all of its chunks were handed over, and no more come.
        void end() noexcept;
        const std::shared_ptr<Filler>& filler() const noexcept { return filler_; }
        /// Returns what its window writes into Chunk::stream.
        std::uint32_t number() const noexcept { return number_; }

      private:
        Use of_;
        std::shared_ptr<Filler> filler_;
        std::uint32_t number_;
    };
    chunk::ChunkRing& ring() noexcept { return ring_; }
    const chunk::ChunkRing& ring() const noexcept { return ring_; }
    /// Throws UsageError if the user's side is that of queues.
    void need_own_chunks() const;
    /// Throws UsageError as Filling does.
    void check(const ChunkShape& shape, std::uint32_t window, bool back_fill) const;

    // The user's side.

    /// Lends a chunk; give_back() takes it back.
    struct Loan {
        chunk::Chunk* chunk = nullptr;
        std::shared_ptr<Filler> filler;
        std::chrono::steady_clock::time_point since;
    };
    /// Takes a waiting chunk; empty: there is none. Then fd() becomes readable with the next one.
    std::optional<Loan> try_take() noexcept;
    /// Waits for a chunk, for the timeout at most. Empty: ended(), or the time is over.
    std::optional<Loan> take(std::chrono::nanoseconds timeout);
    void give_back(const Loan& loan) noexcept;
    /// Returns whether no chunk waits, and none comes: all streams that filled these chunks have ended, or
    /// stop() was called.
    bool ended() const noexcept;
    /// Returns whether a stream has ever started.
    bool begun() const noexcept;
    /// Ends the taking of chunks, for good.
    void stop() noexcept;
    /// Returns a descriptor that becomes readable when a chunk or the end comes after try_take() has found
    /// nothing. After the end it stays readable.
    int fd() const noexcept { return ring_.data_fd(); }

  private:
    /// Holds the memory of chunks that were added together.
    struct Block {
        memory::Mapping data;
        std::vector<std::uint8_t> present;
        std::vector<std::byte> extra;
    };

    std::uint32_t begin(const std::shared_ptr<Filler>& filler);
    void serve() noexcept;
    bool end(Filler& filler) noexcept;
    void need_like(const ChunkShape& shape, bool exactly) const;
    bool is_over() const noexcept { return stopped_ || (begun_ && filling_ == 0); }

    std::vector<std::unique_ptr<Block>> blocks_;
    chunk::ChunkRing ring_;
    mutable std::mutex mutex_;
    // Guarded.
    std::optional<ChunkShape> shape_;                           ///< of the first chunks
    std::map<std::uint32_t, std::shared_ptr<Filler>> fillers_;  ///< by number
    std::uint32_t number_ = 0;                                  ///< the last one
    std::size_t filling_ = 0;
    bool begun_ = false;  ///< a filler has served
    bool stopped_ = false;
};

}  // namespace spead::runtime
