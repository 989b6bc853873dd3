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
#include "runtime/consumers.hpp"
#include "runtime/details.hpp"
#include "runtime/sink.hpp"
#include "runtime/user_queues.hpp"
#include "stats/peak.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

struct Worker;

/// One stream on one lcore: a lane, with what the control world keeps of it.
struct StreamLane {
    StreamLane() = default;
    StreamLane(const StreamLane&) = delete;
    StreamLane& operator=(const StreamLane&) = delete;
    /// Heaps that users hold keep the lane, and its filter is nothing of theirs.
    ~StreamLane() {
        if (rx)
            rx->filter.reset();
    }

    std::shared_ptr<recv::SpeadLane> rx;   ///< with the arena, if that is the stream's own
    const memory::Arena* arena = nullptr;  ///< where its heaps lie
    bool owns_arena = false;               ///< no other stream has heaps there
    Worker* worker = nullptr;
    std::uint16_t slot = 0;           ///< by which the lcore's classifiers name the lane
    Consumers::Feed* feed = nullptr;  ///< null: it has users, or has left the consumers
    std::shared_ptr<Sink> sink;       ///< null: it has users
    std::shared_ptr<UserQueues> users;
    std::shared_ptr<UserQueues::Queue> user_queue;
    /// What the lcore counted when it last answered.
    stats::StreamCounters counts;
    Consumers::Done done;  ///< heaps that its sink was given
    LaneDetails details;
    stats::PeakRecord queued;          ///< heaps in its hand-over queue
    stats::PeakRecord memory_used;     ///< bytes
    capture::TapCounters tap_counts;   ///< of the capture that runs
    bool blocked = false;              ///< waits for its consumer
    bool waits_for_memory = false;     ///< its packets do
    bool stopped = false;              ///< by a stop item
    bool over = false;                 ///< stopped, and all its heaps were handed over
    std::vector<std::uint64_t> stops;  ///< stop items by place; only where the run may end by them

    /// What becomes of its heaps; null: it has left those who take them.
    const HeapTally* tally() const noexcept {
        return user_queue ? static_cast<const HeapTally*>(user_queue.get()) : feed;
    }
};

/// A lane on its way out: no packet comes to it any more.
struct Leaving {
    std::unique_ptr<StreamLane> lane;
    enum class Step : std::uint8_t { flush, consume, reclaim } step = Step::flush;
    bool waits_for_user = false;  ///< who may take any time for the heaps that are left
};

struct Stream {
    std::uint32_t number = 0;  ///< no other stream of the run has it
    std::string name;
    std::shared_ptr<Sink> sink;         ///< null: it has users, or is not enabled
    std::shared_ptr<UserQueues> users;  ///< of SinkKind::user
    bool source_ended = false;          ///< its users were handed all that the port's source had
    /// Since when its users have kept it waiting for memory, and whether that was told.
    struct HeldUp {
        std::optional<std::chrono::steady_clock::time_point> since;
        bool told = false;
    };
    HeldUp held_up;
    std::vector<std::unique_ptr<StreamLane>> lanes;
    std::vector<Leaving> leaving;
    /// Place of each endpoint in the lanes' tables: kept while others come and go.
    std::vector<Endpoint> places;
    std::vector<Endpoint> in_use;                         ///< of places: what its packets come for
    std::vector<std::shared_ptr<Sink>> old_sinks;         ///< that leaving lanes still have
    stats::StreamSnapshot past;                           ///< what lanes that it no longer has have counted
    std::vector<stats::EndpointCounters> past_endpoints;  ///< as places; likewise
    stats::EndpointCounters former;                       ///< of endpoints that have no place any more
    stats::StreamTimes past_times;
    std::unique_ptr<capture::Capture> capture;  ///< its taps are on the lanes, as lanes
    std::uint64_t capture_number = 0;           ///< of the captures of the run
    bool blocked = false;                       ///< waits for its consumer, when look() last looked
    bool stopped = false;  ///< by a stop item, on all lcores; only of streams that have several
    std::optional<stats::LastEvent> last_event;  ///< of its sink or its lcores

    std::vector<const StreamLane*> all_lanes() const;  ///< those that leave, too
    /// No packet comes to its lanes any more.
    void retire_lanes();
    /// Lanes that leave keep the former sink.
    void retire_sink(std::shared_ptr<Sink> successor);
};

/// Returns the stream's lane on the worker; null: it has none there.
const StreamLane* lane_on(const Stream& stream, const Worker& worker);

}  // namespace spead::runtime
