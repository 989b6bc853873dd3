// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "chunk/chunk_window.hpp"
#include "runtime/plan.hpp"
#include "runtime/user_chunks.hpp"
#include "stats/chunk_counts.hpp"

namespace spead::runtime {

/// Limits the windows between two chunks from which the length of a chunk is known: more is a jump.
inline constexpr std::int64_t kMostWindows = 64;

/// Returns how the plan's window is made; `number` is Chunk::stream.
chunk::ChunkWindowConfig window_config(const ChunkPlan& plan, std::uint32_t number);
/// Fills in what a window has counted.
void tell(const chunk::WindowCounts& window, stats::ChunkCounts& to) noexcept;

/// Fills a user's chunks through one window, for one stream or for several. Main thread.
class ChunkFilling {
  public:
    /// Throws UsageError when the chunks are not made for it.
    ChunkFilling(const UserChunks::Use& use, const ChunkShape& shape, const ChunkPlan& plan);

    void join() noexcept { streams_++; }
    /// Says that a stream has started.
    void serve() noexcept { filling_.serve(); }
    /// Says that a stream has handed all of its chunks over. The last one ends the filling.
    void leave() noexcept {
        if (--streams_ == 0)
            filling_.end();
    }
    bool ended() const noexcept { return streams_ == 0; }
    /// Returns what became of its chunks. Any thread; exact when nothing moves.
    stats::ChunkCounts counts() const;

    chunk::ChunkWindow& window() noexcept { return window_; }
    const chunk::ChunkWindow& window() const noexcept { return window_; }
    const std::shared_ptr<UserChunks::Filler>& filler() const noexcept { return filling_.filler(); }

  private:
    UserChunks::Filling filling_;
    chunk::ChunkWindow window_;
    std::uint64_t heaps_;  ///< of a chunk
    std::size_t streams_ = 0;
};

/// Joins streams, of several ports perhaps, that fill the same chunks through one window. When all of them
/// have ended, the next one begins anew. The main thread joins; any thread reads the counts.
class ChunkGroup {
  public:
    /// Returns the window of the streams that fill chunks now; makes one if there is none. The caller joins
    /// it. Throws UsageError when the chunks are not made for it.
    std::shared_ptr<ChunkFilling> filling(const UserChunks::Use& use, const ChunkShape& shape,
                                          const ChunkPlan& plan);
    /// Returns what became of the group's chunks, and where they are.
    stats::ChunkCounts counts() const;

    // Main thread, for snapshots. Each stream shows the group's counts, and sums take them from one stream.

    /// Returns the number of that stream; 0: none was chosen.
    std::uint32_t teller() const noexcept { return teller_; }
    void set_teller(std::uint32_t stream) noexcept { teller_ = stream; }
    /// Returns counts() without those that count with removed streams.
    stats::ChunkCounts counts_of_streams() const;
    /// Returns what counts_of_streams() counts. From now on, that counts with removed streams.
    stats::ChunkCounts take_counts();

  private:
    /// Holds the last counts of a window, and what users take of its chunks.
    struct Former {
        stats::ChunkCounts window;
        std::shared_ptr<UserChunks::Filler> filler;
    };
    static stats::ChunkCounts counts_of(const Former& former);

    mutable std::mutex mutex_;
    // Guarded.
    std::shared_ptr<ChunkFilling> current_;
    std::vector<Former> former_;  ///< those whose chunks users have not all given back
    stats::ChunkCounts past_;     ///< of those before
    std::uint32_t teller_ = 0;
    stats::ChunkCounts taken_;  ///< by take_counts()
};

}  // namespace spead::runtime
