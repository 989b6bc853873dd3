// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recv/filter_gate.hpp"
#include "runtime/change.hpp"
#include "runtime/consumers.hpp"
#include "runtime/copy_limits.hpp"
#include "runtime/event_reporter.hpp"
#include "runtime/gather_engines.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/paths.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/stream.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Returns how a lane of the stream is made. `places`: its endpoints there. `lossless`: their source waits
/// without loss.
recv::LaneConfig lane_config(const ReceivePlan& r, const std::vector<PathEndpoint>& places, bool lossless);

class CaptureSet;

/// Holds the streams of a run: their lanes on lcores, the lanes that are being removed, and the counts of
/// former streams.
///
/// Main thread only. A lane belongs to the set before its lcore or its consumer knows it, and until neither
/// does. Waits end with the lcores' patience (LcoreSet).
class StreamSet {
  public:
    using Streams = std::vector<std::unique_ptr<Stream>>;

    struct Makers {
        std::function<std::unique_ptr<Sink>(const SinkPlan&, const std::string& stream)> sink;
        /// Makes the chunks of a stream that has them, and their sink, which it returns by `sink`.
        std::function<std::shared_ptr<StreamChunks>(const ReceivePlan&, std::uint32_t number,
                                                    std::shared_ptr<Sink>& sink)>
            chunks;
        /// Makes the filter of a stream on one of its lcores; null: none.
        std::function<std::unique_ptr<recv::PacketFilter>(const ReceivePlan&)> filter;
        /// Returns the queues for the heaps of a stream with SinkKind::user; the same object each time.
        std::function<std::shared_ptr<UserQueues>(const std::string& stream)> users;
        MakeStoresRule stores;
        GatherEngines* engines;  ///< outlive the set
    };

    /// Refers to all of them; they outlive the set. A sink that failed is a problem of the run.
    StreamSet(LcoreSet& lcores, PortSet& ports, Consumers& consumers, EventReporter& events, Makers makers,
              std::vector<std::string>& problems)
        : lcores_(lcores),
          ports_(ports),
          consumers_(consumers),
          events_(events),
          makers_(std::move(makers)),
          problems_(problems) {}
    /// Calls end_users().
    ~StreamSet();
    StreamSet(const StreamSet&) = delete;
    StreamSet& operator=(const StreamSet&) = delete;

    /// Makes the streams of a run that begins, with lanes where `queues` deliver to. Throws Error.
    void make(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues);

    /// Returns the streams of the plan, in its order.
    const Streams& current() const noexcept { return current_; }
    /// Returns streams that are removed, with the lanes that still end.
    const Streams& removed() const noexcept { return removed_; }
    /// Returns the counts of former streams.
    const stats::StreamSnapshot& removed_counts() const noexcept { return removed_counts_; }
    stats::StreamSnapshot& removed_counts() noexcept { return removed_counts_; }
    /// Returns whether lanes are being removed that wait for no user.
    bool any_leaving() const;

    /// Holds the new streams and sinks of a change, at their indices in the plan.
    struct Fresh {
        Streams streams;
        std::vector<std::shared_ptr<Sink>> sinks;
        std::vector<std::shared_ptr<StreamChunks>> chunks;
        std::vector<std::shared_ptr<UserQueues>> users;  ///< of streams with users instead of a sink
    };
    /// Makes the objects that are most likely to fail, before anything has changed. Throws Error.
    Fresh make_fresh(const std::vector<ReceivePlan>& wanted, const Change& change);
    /// Brings the streams into the order of the wanted plan, and begins to remove the others.
    void exchange(const Change& change, Streams fresh);
    /// Changes the lanes to the plan, which is that of exchange(), and begins to remove the others. Throws
    /// Error.
    void renew(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues,
               const Change& change, Fresh fresh);
    /// Throws Error if a stream would get new lanes while its user leaves the heaps of many former ones
    /// untaken: each of them keeps its memory.
    void check_users(std::size_t stream) const;
    /// Reserves for every stream an equal amount of its lcore's memory; with `with_leaving` also for those
    /// that are being removed.
    void reserve_memory(Worker& worker, bool with_leaving);

    /// Destroys lanes that their lcores and consumers no longer use.
    void let_go();
    /// Stops streams from waiting for consumers that take no more. `silent_too`: also where an lcore is
    /// silent.
    void let_go_of_consumers(bool silent_too);
    /// Ends the user queues of ended streams and of those whose port's source has ended. `on_their_way`:
    /// packets are between two lcores.
    void serve_users(const std::vector<ReceivePlan>& plans, bool on_their_way);
    /// Returns whether a stop item, or the end of its source, has ended the stream, and all its heaps were
    /// delivered.
    bool has_ended(std::size_t stream) const;
    /// Ends all user queues: no heap comes any more.
    void end_users() noexcept;
    /// Stops a stream on all its lcores when a stop item has stopped it on one.
    void share_stops(const std::vector<ReceivePlan>& plans);
    /// Says that the streams have started.
    void serve_chunks() noexcept;
    /// Returns whether every endpoint of every enabled stream has seen a stop item, on any lcore.
    bool all_stopped(const std::vector<ReceivePlan>& plans) const;

    /// Restarts the heap times of former lanes, and what was most or longest there.
    void forget_peaks();

    /// Reports newly failed sinks, jumps of the time, and slow place callbacks; `now` in seconds of the run.
    void watch_sinks(double now);
    /// Reports captures whose files cannot be written.
    void watch_captures(CaptureSet& captures, double now);
    /// Adds the latest event of sinks and lcores to the streams of a snapshot, after HealthMonitor::add_to().
    void add_last_events(stats::Snapshot& snap) const;
    /// Notes that an lcore is silent, or answers again. Returns the streams with a lane there.
    std::vector<std::string> note_silence(const Worker& worker, bool silent, double now,
                                          const std::string& text);

    /// Returns the indices of the streams whose packets wait while such an engine stands still: those of the
    /// engine, and others of the same ports and lcores.
    std::vector<std::size_t> waiting_for(HeapEngine engine, const std::vector<ReceivePlan>& plans) const;
    /// Updates which streams wait for an engine that may stand still: Stream::waits_for_engine.
    void look_for_engines(const std::vector<ReceivePlan>& plans);
    /// Notes that these streams wait for an engine, or no longer do. Returns their names.
    std::vector<std::string> note_stall(const std::vector<std::size_t>& streams, bool stalled, double now,
                                        const std::string& text);

    /// Updates which streams wait for their consumers: Stream::blocked.
    void look_for_blocked();
    std::vector<std::string> blocked() const;
    /// Returns packets of former and present streams that were lost although their source could wait, as
    /// problems.
    std::vector<std::string> lost_although_waited();

  private:
    std::shared_ptr<Sink> make_sink(const ReceivePlan& r, std::uint32_t number,
                                    std::shared_ptr<StreamChunks>& chunks) const;
    void look_at_chunks(Stream& stream);
    void look_at_callback(Stream& stream, StreamLane& lane);
    std::shared_ptr<UserQueues> users_of(const ReceivePlan& r) const;
    void serve_chunks(Stream& stream, const ReceivePlan& plan, bool on_their_way);
    void end_source(Stream& stream);
    static void watch_held(Stream& stream);
    std::unique_ptr<StreamLane> make_lane(const Stream& stream, const ReceivePlan& r, Worker& worker);
    void make_lanes(Stream& stream, std::size_t receive, const ReceivePlan& r,
                    const std::vector<QueueLayout>& queues);
    void install(Stream& stream, std::unique_ptr<StreamLane> lane);
    void share_caches();
    void keep_places(Stream& stream, const std::vector<PathEndpoint>& endpoints);
    void grow_loans();
    void let_go(Stream& stream);
    bool leave(Stream& stream, Leaving& leaving);
    static void fold(Stream& stream, const StreamLane& lane);
    void look_at_sink(Stream& stream, Sink& sink);

    LcoreSet& lcores_;
    PortSet& ports_;
    Consumers& consumers_;
    EventReporter& events_;
    const Makers makers_;
    std::vector<std::string>& problems_;
    Streams current_;
    Streams removed_;
    stats::StreamSnapshot removed_counts_;
    std::uint32_t last_number_ = 0;
    double now_ = 0;  ///< seconds of the run, at the last watch_sinks()
};

}  // namespace spead::runtime
