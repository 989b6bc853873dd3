// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.hpp"
#include "memory/arena.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/callback_watch.hpp"
#include "runtime/consumers.hpp"
#include "runtime/details.hpp"
#include "runtime/endpoint_places.hpp"
#include "runtime/past_counts.hpp"
#include "runtime/sink.hpp"
#include "runtime/stream_chunks.hpp"
#include "runtime/stream_sinks.hpp"
#include "runtime/user_queues.hpp"
#include "stats/peak.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

struct Worker;

/// Holds a stream's lane on one lcore.
struct StreamLane {
    StreamLane() = default;
    StreamLane(const StreamLane&) = delete;
    StreamLane& operator=(const StreamLane&) = delete;
    /// Detaches the filter. Heaps that users hold keep the lane alive, but do not need its filter.
    ~StreamLane() {
        if (rx)
            rx->filter.reset();
    }

    std::shared_ptr<StreamChunks> chunks;  ///< that it fills; null: a stream of heaps
    std::shared_ptr<recv::SpeadLane> rx;   ///< with the arena, if that is the stream's own
    const memory::Arena* arena = nullptr;  ///< of its heaps
    bool owns_arena = false;               ///< no other stream has heaps there
    Worker* worker = nullptr;
    std::uint16_t slot = 0;           ///< index of the lane in the lcore's classifiers
    Consumers::Feed* feed = nullptr;  ///< null: it has users or chunks, or was removed from the consumers
    std::shared_ptr<Sink> sink;       ///< null: it has users
    std::shared_ptr<UserQueues> users;
    std::shared_ptr<UserQueues::Queue> user_queue;
    /// Holds the counts of the lcore's last answer.
    stats::StreamCounters counts;
    Consumers::Done done;  ///< heaps given to its sink
    LaneDetails details;
    stats::PeakRecord queued;          ///< heaps in its hand-over queue
    stats::PeakRecord memory_used;     ///< bytes
    capture::TapCounters tap_counts;   ///< of the running capture
    bool blocked = false;              ///< waits for its consumer
    bool waits_for_memory = false;     ///< its packets do
    bool stopped = false;              ///< by a stop item
    bool over = false;                 ///< stopped, and all its heaps were delivered
    std::vector<std::uint64_t> stops;  ///< stop items by place; only where they may end the run
    CallbackWatch callback_watch;

    /// Returns the tally of its heaps; null: it was removed from the consumers or users.
    const HeapTally* tally() const noexcept {
        return user_queue ? static_cast<const HeapTally*>(user_queue.get()) : feed;
    }
};

/// Holds a lane that is being removed: no packet reaches it any more.
struct Leaving {
    std::unique_ptr<StreamLane> lane;
    enum class Step : std::uint8_t { flush, consume, reclaim } step = Step::flush;
    bool waits_for_user = false;  ///< the user may take any time for the remaining heaps
};

struct Stream {
    std::uint32_t number = 0;  ///< unique in the run
    std::string name;
    StreamSinks sinks;
    std::shared_ptr<StreamChunks> chunks;  ///< null: a stream of heaps, or not enabled
    /// Holds former chunks, until their lanes are gone and the consumer has ended.
    std::vector<std::shared_ptr<StreamChunks>> former_chunks;
    std::shared_ptr<ChunkGroup> group;  ///< whose chunks it fills, or did; null: its chunks are its own
    std::shared_ptr<UserQueues> users;  ///< of SinkKind::user
    bool source_ended = false;          ///< its users were handed all that the port's source had
    /// Holds since when its users have kept it waiting for memory, and whether that was reported.
    struct HeldUp {
        std::optional<std::chrono::steady_clock::time_point> since;
        bool told = false;
    };
    HeldUp held_up;
    std::vector<std::unique_ptr<StreamLane>> lanes;
    std::vector<Leaving> leaving;
    EndpointPlaces places;               ///< in the lanes' tables
    std::vector<std::uint16_t> numbers;  ///< of the endpoints in the plan, by place
    PastCounts past;
    std::unique_ptr<capture::Capture> capture;  ///< its taps are on the lanes, in their order
    std::uint64_t capture_number = 0;           ///< among the run's captures
    bool blocked = false;                       ///< waits for its consumer, as of the last look()
    bool waits_for_engine = false;              ///< that moves nothing, as of the last look()
    bool stopped = false;  ///< by a stop item, on all lcores; only for streams with several
    /// Holds since when stop items of all its endpoints have come, by one of two paths at least.
    std::optional<std::chrono::steady_clock::time_point> stopped_on_one_path;
    std::optional<stats::LastEvent> last_event;  ///< of its sink or its lcores

    std::vector<const StreamLane*> all_lanes() const;  ///< with those that are being removed
    /// Begins to remove its lanes; no packet reaches them any more.
    void retire_lanes();
    /// Makes `successor` the chunks of new lanes; those before become former ones. Null: none.
    void replace_chunks(std::shared_ptr<StreamChunks> successor);
    /// Ends former chunks that no lane fills any more, and keeps their counts.
    void let_go_of_chunks();
    /// Returns whether lanes or consumers of former chunks are left.
    bool is_leaving() const noexcept { return !leaving.empty() || !former_chunks.empty(); }
    /// Calls `visit` with the present chunks and the former ones.
    template <typename Visit>
    void for_each_chunks(const Visit& visit) const {
        if (chunks)
            visit(*chunks);
        for (const auto& former : former_chunks)
            visit(*former);
    }
};

/// Returns the stream's lane on the worker; null: none.
const StreamLane* lane_on(const Stream& stream, const Worker& worker);
/// Returns the outcome of a lane's heaps. Those that were tracked into chunks went to no consumer: they are
/// delivered.
HeapTally::Done done_of(const StreamLane& lane);

}  // namespace spead::runtime
