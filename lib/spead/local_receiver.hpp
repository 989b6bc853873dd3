// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "recv/packet_reader.hpp"
#include "runtime/plan.hpp"
#include "runtime/user_chunks.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::door {

/// Receives one stream of a user without EAL and without a session: a lane on a thread of its own, and its
/// reader. Any thread may call anything.
class LocalReceiver {
  public:
    struct Parts {
        /// Makes the source of the packets, at each start. Throws Error.
        std::function<std::unique_ptr<recv::PacketReader>(const runtime::ReceivePlan&)> make_reader{};
        /// Makes the filter, at each start; empty, or a result of null: none.
        std::function<std::unique_ptr<recv::PacketFilter>()> make_filter{};
        /// Gets the heaps; null: the stream fills chunks.
        std::shared_ptr<runtime::UserQueues> queues{};
        /// Names the chunks of a stream with ReceivePlan::chunk.
        runtime::UserChunks::Use chunks{};
    };

    /// Checks the plan, and starts if it is enabled. Throws Error and UsageError.
    LocalReceiver(runtime::ReceivePlan plan, Parts parts);
    /// Ends the stream. Its waiting heaps are dropped, once the user has abandoned the queues.
    ~LocalReceiver();
    LocalReceiver(const LocalReceiver&) = delete;
    LocalReceiver& operator=(const LocalReceiver&) = delete;

    /// Receives (again), with a new window, unless it does. Throws Error; then it stays stopped.
    void start();
    /// Takes no more packets, and hands live heaps or open chunks over. Returns when the last packet has been
    /// taken; a lossless stream hands heaps over as its user takes them.
    void stop() noexcept;

    /// Receives other endpoints from now on. Live heaps go on. Throws Error and UsageError, and has changed
    /// nothing.
    void change_endpoints(const std::function<void(runtime::ReceivePlan&)>& edit);

    struct Counts {
        stats::StreamSnapshot stream;
        std::uint64_t lost = 0;  ///< packets, before the lane
    };
    Counts counts() const;

  private:
    struct Run;
    /// Holds the counts of a run that has ended, with the queue from which its heaps are taken.
    struct Former {
        stats::StreamCounters counters;
        std::uint64_t lost = 0;
        std::shared_ptr<runtime::UserQueues::Queue> queue;  ///< null: the stream fills chunks
        stats::ChunkCounts chunks;
    };

    void retire();

    const Parts parts_;
    mutable std::mutex mutex_;
    runtime::ReceivePlan plan_;   ///< guarded
    std::unique_ptr<Run> run_;    ///< guarded; null: never started
    std::vector<Former> former_;  ///< guarded; the runs before
};

}  // namespace spead::door
