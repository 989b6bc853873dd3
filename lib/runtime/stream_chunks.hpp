// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chunk/chunk_lane.hpp"
#include "chunk/chunk_ring.hpp"
#include "chunk/chunk_window.hpp"
#include "gather/engine.hpp"
#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "runtime/chunk_group.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/chunk_tally.hpp"
#include "runtime/plan.hpp"
#include "runtime/user_chunks.hpp"
#include "stats/chunk_counts.hpp"
#include "stats/counters.hpp"

namespace spead::runtime {

/// Holds the chunks of a stream: their memory, the ring and the window that the lanes of the stream share,
/// and the thread that gives chunks to the sink. If a user takes the chunks, memory and ring are his, and
/// there is no thread. The streams of a group share the window.
///
/// Made and destroyed by the main thread. It outlives its lanes. Lanes come and go while others fill chunks.
class StreamChunks {
  public:
    /// Registers memory for as long as the result lives. Throws Error.
    using Register = std::function<std::shared_ptr<const void>(const memory::Region& region)>;

    /// Maps the memory and starts the thread, which runs on `cpus`. `number` is the stream's. `pin` registers
    /// pinned memory. Throws Error when there is not enough memory, when it cannot be pinned, or when no GPU
    /// is there to reach it, and UsageError for a wrong placement.
    ///
    /// With an `engine`, the chunks lie in its memory, and it moves the payload (recv::Lane::gather_with).
    /// Payload that the CPU cannot read is fetched for a sink that reads it.
    StreamChunks(const ReceivePlan& plan, std::uint32_t number, std::shared_ptr<ChunkSink> sink,
                 const std::vector<unsigned>& cpus, const Register& pin = {},
                 std::shared_ptr<gather::Engine> engine = nullptr);
    /// Fills a user's chunks, by the plan's placement or the user's callback. `sink` gets none. Throws
    /// UsageError when the chunks are not made for it.
    StreamChunks(const ReceivePlan& plan, const UserChunks::Use& use, std::shared_ptr<ChunkSink> sink);
    /// Closes, and waits for the thread. No lane is left.
    ~StreamChunks();
    StreamChunks(const StreamChunks&) = delete;
    StreamChunks& operator=(const StreamChunks&) = delete;

    /// Makes the part of a lane that fills chunks; the counters outlive it. `heaps` bounds those of the
    /// tracked way. Throws UsageError when there are too many lanes.
    std::unique_ptr<chunk::ChunkLane> make_lane(stats::StreamCounters& counters, bool can_wait,
                                                const heap::WindowConfig& heaps = {});
    /// Says that `former` ends as these chunks begin (ChunkWindow::goes_on_from), if both number chunks
    /// alike. Before the first lane.
    void goes_on_from(const StreamChunks& former) noexcept;
    const Sink& sink() const noexcept { return *sink_; }
    chunk::ChunkWindow& window() noexcept { return window_; }

    /// Says that the stream has started. If a user takes the chunks, the stream's end is theirs from now on.
    void serve() noexcept {
        if (filling_)
            filling_->serve();
        served_ = true;
    }
    /// Says that no lane hands chunks over any more. The thread takes those that wait, and ends the sink.
    void close() noexcept;
    /// Returns whether the thread has given all chunks to the sink, and has ended it. True only after
    /// close(); a user may take his chunks later.
    bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
    /// Returns the chunks that the consumer has finished.
    std::uint64_t finished() const noexcept { return tally_->finished(); }
    /// Returns whether a user takes the chunks.
    bool has_user() const noexcept { return filling_ != nullptr; }
    /// Returns whether sources that can wait have to wait for the consumer.
    bool holds_sources_up() const noexcept { return can_wait_ && ring_->free() == 0; }

    /// Returns the group whose chunks it fills with other streams; null: they are its own.
    const std::shared_ptr<ChunkGroup>& group() const noexcept { return group_; }
    /// Returns the counts; none in a group, which has them. Any thread; exact when nothing moves.
    stats::ChunkCounts counts() const;
    /// Returns the presence in them by axis. Any thread.
    std::vector<stats::AxisPresence> axes() const { return tally_->axes(); }
    /// Returns the jumps of the time since the last call. Main thread.
    std::uint64_t new_resyncs() noexcept;

  private:
    memory::Region make_memory(const ReceivePlan& plan, const Register& pin);
    void run() noexcept;
    void give(chunk::Chunk& chunk) noexcept;
    bool fetch(chunk::Chunk& chunk) noexcept;

    std::optional<chunk::Placement> placement_;  ///< none: there is a callback
    std::function<chunk::PlaceCallback()> make_callback_;
    std::shared_ptr<ChunkSink> sink_;
    std::uint64_t heaps_;                           ///< of a chunk
    std::shared_ptr<gather::Engine> engine_;        ///< null: lcores copy
    std::shared_ptr<const memory::Region> region_;  ///< the engine's; null: memory_
    std::vector<std::byte> fetched_;                ///< payload of a chunk for the sink; empty: it needs none
    bool fetch_failed_ = false;                     ///< and was logged
    memory::Mapping memory_;
    std::shared_ptr<const void> registered_;  ///< memory_, if it is pinned: with ports, and with GPUs
    std::vector<std::uint8_t> present_;       ///< of all chunks
    std::vector<std::byte> extra_;            ///< of all chunks
    std::shared_ptr<ChunkFilling> filling_;   ///< perhaps a group's; null: the thread takes the chunks
    std::shared_ptr<std::atomic<int>> open_;  ///< UserChunks::Use::open
    std::function<void()> at_end_;            ///< UserChunks::Use::at_end
    bool joined_ = false;                     ///< filling_
    bool served_ = false;
    std::shared_ptr<ChunkGroup> group_;
    std::shared_ptr<chunk::ChunkRing> ring_;        ///< perhaps the user's
    std::shared_ptr<ChunkTally> tally_;             ///< perhaps the filling's
    std::optional<chunk::ChunkWindow> own_window_;  ///< of those that the thread takes
    chunk::ChunkWindow& window_;
    std::uint64_t told_resyncs_ = 0;
    bool can_wait_ = false;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

}  // namespace spead::runtime
