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
#include "runtime/event_reporter.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/stream.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// The streams of a run: their lanes on lcores, the lanes on their way out, and what former streams counted.
///
/// Main thread only. A lane belongs to the set before its lcore or its consumer knows it, and until neither
/// does. Waits end with the lcores' patience (LcoreSet).
class StreamSet {
  public:
    using Streams = std::vector<std::unique_ptr<Stream>>;

    struct Makers {
        std::function<std::unique_ptr<Sink>(const SinkPlan&, const std::string& stream)> sink;
        /// The filter of a stream on one of its lcores; null: none.
        std::function<std::unique_ptr<recv::PacketFilter>(const ReceivePlan&)> filter;
        /// Whose heaps a stream with SinkKind::user has; the same ones each time.
        std::function<std::shared_ptr<UserQueues>(const std::string& stream)> users;
    };

    /// All of them outlive the set. A sink that failed is a problem of the run.
    StreamSet(LcoreSet& lcores, PortSet& ports, Consumers& consumers, EventReporter& events, Makers makers,
              std::vector<std::string>& problems)
        : lcores_(lcores),
          ports_(ports),
          consumers_(consumers),
          events_(events),
          makers_(std::move(makers)),
          problems_(problems) {}
    /// end_users().
    ~StreamSet();
    StreamSet(const StreamSet&) = delete;
    StreamSet& operator=(const StreamSet&) = delete;

    /// Makes the streams of a run that begins, with their lanes where `queues` deliver to. Throws Error.
    void make(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues);

    /// Returns the streams of the plan, in its order.
    const Streams& current() const noexcept { return current_; }
    /// Returns streams that are removed, with lanes that still leave.
    const Streams& removed() const noexcept { return removed_; }
    /// Returns what streams that are no more have counted.
    const stats::StreamSnapshot& removed_counts() const noexcept { return removed_counts_; }
    stats::StreamSnapshot& removed_counts() noexcept { return removed_counts_; }
    /// Returns whether lanes are on their way out that wait for no user.
    bool any_leaving() const;

    /// New streams and sinks of a change, at their places in the plan.
    struct Fresh {
        Streams streams;
        std::vector<std::shared_ptr<Sink>> sinks;
        std::vector<std::shared_ptr<UserQueues>> users;  ///< of those that have users instead of a sink
    };
    /// Makes what most often cannot be made, before anything has changed. Throws Error.
    Fresh make_fresh(const std::vector<ReceivePlan>& wanted, const Change& change);
    /// Puts the streams into the order of the wanted plan; those that are removed are on their way out.
    void exchange(const Change& change, Streams fresh);
    /// Makes the lanes what the plan says, which is that of exchange(); others are on their way out. Throws
    /// Error.
    void renew(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues,
               const Change& change, Fresh fresh);
    /// Refuses, with an Error, to give a stream new lanes while its user leaves the heaps of many former ones
    /// untaken: each of them keeps its memory.
    void check_users(std::size_t stream) const;
    /// Reserves an equal part of its lcore's memory for every stream; those that leave, too, if
    /// `with_leaving`.
    void reserve_memory(Worker& worker, bool with_leaving);

    /// Lets go of lanes that their lcores and consumers are done with.
    void let_go();
    /// No stream waits for consumers that take no more. `silent_too`: also where an lcore is silent.
    void let_go_of_consumers(bool silent_too);
    /// Tells users of the streams that have ended, and ends those whose port's source has. `on_their_way`:
    /// packets are between two lcores.
    void serve_users(const std::vector<ReceivePlan>& plans, bool on_their_way);
    /// No heap will come any more to any user.
    void end_users() noexcept;
    /// Stops a stream on all its lcores that a stop item has stopped on one.
    void share_stops(const std::vector<ReceivePlan>& plans);
    /// Whether every endpoint of every enabled stream has seen a stop item, on whichever lcore.
    bool all_stopped(const std::vector<ReceivePlan>& plans) const;

    /// Begins the times of heaps anew, of lanes that are no more.
    void forget_times();

    /// Reports sinks that have failed since; `now` in seconds of the run.
    void watch_sinks(double now);
    /// Adds the latest event of sinks and lcores to the streams of a snapshot, after HealthMonitor::add_to().
    void add_last_events(stats::Snapshot& snap) const;
    /// Notes that an lcore has fallen silent, or is back. Returns the streams that have a lane there.
    std::vector<std::string> note_silence(const Worker& worker, bool silent, double now,
                                          const std::string& text);

    /// Looks again which streams wait for their consumers: Stream::blocked.
    void look_for_blocked();
    std::vector<std::string> blocked() const;
    /// Returns packets of the lanes' streams that were lost although their source could wait, as problems.
    std::vector<std::string> lost_although_waited();

  private:
    std::shared_ptr<UserQueues> users_of(const ReceivePlan& r) const;
    void end_source(Stream& stream);
    static void watch_held(Stream& stream);
    std::unique_ptr<StreamLane> make_lane(const Stream& stream, const ReceivePlan& r, Worker& worker);
    void make_lanes(Stream& stream, std::size_t receive, const ReceivePlan& r,
                    const std::vector<QueueLayout>& queues);
    void install(Stream& stream, std::unique_ptr<StreamLane> lane);
    void keep_places(Stream& stream, const std::vector<Endpoint>& endpoints);
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
    double now_ = 0;  ///< seconds of the run, when watch_sinks() was called last
};

}  // namespace spead::runtime
