// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/process_mark.hpp"
#include "recv/datagram_lane.hpp"
#include "recv/packet_reader.hpp"
#include "recv/several_readers.hpp"
#include "runtime/plan.hpp"
#include "runtime/user_chunks.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::door {

class LocalEnd;
class LocalRun;

/// Receives one stream of a user without EAL and without a session: a lane on a thread of its own, and its
/// reader. Any thread may call anything.
class LocalReceiver {
  public:
    /// Makes a source of packets, at each start; null: none. Throws Error.
    using MakeReader = std::function<std::unique_ptr<recv::PacketReader>(const runtime::ReceivePlan&)>;
    struct Parts {
        MakeReader make_reader{};
        /// Makes the filter, at each start; empty, or a result of null: none.
        std::function<std::unique_ptr<recv::PacketFilter>()> make_filter{};
        /// Sets how many bytes of the memory for heaps are resident at once.
        std::size_t resident = recv::DatagramLane::kAll;
        /// Gets the heaps; null: the stream fills chunks.
        std::shared_ptr<runtime::UserQueues> queues{};
        /// Names the chunks of a stream with ReceivePlan::chunk.
        runtime::UserChunks::Use chunks{};
        bool once = false;  ///< RecvConfig::once
        /// Guards what the streams of a group share, whose runs begin and end at once; null: it is alone.
        std::shared_ptr<std::mutex> of_group{};
    };

    /// Checks the plan, and starts if it is enabled. Throws Error and UsageError.
    LocalReceiver(runtime::ReceivePlan plan, Parts parts);
    /// Ends the stream. Its waiting heaps are dropped, once the user has abandoned the queues.
    /// In a child of fork(2) it does nothing: the threads are the parent's.
    ~LocalReceiver();
    LocalReceiver(const LocalReceiver&) = delete;
    LocalReceiver& operator=(const LocalReceiver&) = delete;

    /// Returns whether this process has made it, and not its parent. Others call nothing else.
    bool is_own() const noexcept;

    /// Receives (again), with a new window, unless it does. Heaps of earlier runs may be taken meanwhile.
    /// Throws Error; then it stays stopped.
    void start();
    /// Does the part of start() that may fail: joins the group's window, and receives nothing yet. start() or
    /// cancel() follows. Returns false if it receives. Throws Error.
    bool prepare();
    void cancel() noexcept;
    /// Waits for a run that takes no packets any more: it has left the group's window then. Throws Error when
    /// that takes longer than LocalRun::kPatience.
    void settle();
    /// Takes no more packets, and hands live heaps or open chunks over. Returns when the last packet has been
    /// taken; a lossless stream hands heaps over as its user takes them. If the user's callback or filter
    /// does not return within LocalRun::kPatience, that is logged, and the end comes when it has.
    void stop() noexcept;

    /// Receives from one more source, now and from each start. If one of a stream's sources ends, the stream
    /// ends. Throws Error, and has changed nothing.
    void add_reader(MakeReader make);
    /// Receives other endpoints from now on. Live heaps go on. Throws Error and UsageError, and has changed
    /// nothing.
    void change_endpoints(const std::function<void(runtime::ReceivePlan&)>& edit);

    /// Counts the work of the stream's thread.
    struct Work {
        std::uint64_t bursts = 0;   ///< of packets that came together
        std::uint64_t largest = 0;  ///< packets of a burst
        std::uint64_t blocked = 0;  ///< times that heaps began to wait for room in the queue

        void add(const Work& other) noexcept {
            bursts += other.bursts;
            largest = std::max(largest, other.largest);
            blocked += other.blocked;
        }
    };
    struct Counts {
        stats::StreamSnapshot stream;
        std::uint64_t lost = 0;  ///< packets, before the lane
        Work work{};
    };
    /// Returns the counts. Those of a moment ago, if user code does not return within LocalRun::kPatience.
    Counts counts() const;

  private:
    /// Holds a run that has handed its heaps over, until they have been taken.
    struct Former {
        stats::StreamCounters counters;
        std::shared_ptr<runtime::UserQueues::Queue> queue;
    };

    bool prepare_run();
    std::unique_ptr<recv::SeveralReaders> open_readers();
    void end_run() const;
    void drop_readers() noexcept;
    void retire();
    void fold() const;

    const ProcessMark mark_;
    const std::unique_ptr<LocalEnd> end_;  ///< null: the stream fills chunks
    mutable std::mutex mutex_;
    // Guarded.
    Parts parts_;  ///< `make_reader` alone changes
    runtime::ReceivePlan plan_;
    std::vector<MakeReader> more_readers_;                   ///< besides that of parts_
    bool dropped_ = false;                                   ///< its only start needs no more readers
    std::unique_ptr<LocalRun> run_;                          ///< the last one; null: never started
    std::unique_ptr<LocalRun> next_;                         ///< prepared
    mutable std::vector<std::unique_ptr<LocalRun>> ending_;  ///< runs before, which hand heaps over
    mutable std::vector<Former> former_;                     ///< runs before those
    mutable Counts past_;  ///< of all runs before, former ones but for `stream`
};

}  // namespace spead::door
