// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/driver.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/copy_limits.hpp"
#include "runtime/end_conditions.hpp"
#include "runtime/executor.hpp"
#include "runtime/filters.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "runtime/sink.hpp"
#include "runtime/user_chunks.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds the hooks and limits that the user of an engine sets: consumers, and how long the end of a run waits
/// for others.
struct EngineHooks {
    std::function<std::unique_ptr<Sink>(const SinkPlan&, const std::string& stream)> make_sink =
        runtime::make_sink;
    /// Returns the sink of a stream with chunks.
    std::function<std::unique_ptr<ChunkSink>(const ReceivePlan&)> make_chunk_sink = runtime::make_chunk_sink;
    /// Returns the filter of a stream on one of its lcores; null: none.
    std::function<std::unique_ptr<recv::PacketFilter>(const ReceivePlan&)> make_filter = runtime::make_filter;
    /// Returns the queues that get the heaps of a stream with SinkKind::user. Returns the same object for a
    /// name as long as the stream exists.
    std::function<std::shared_ptr<UserQueues>(const std::string& stream)> user_queues{};
    /// Returns the chunks of a stream with SinkKind::user that has chunks.
    std::function<UserChunks::Use(const std::string& stream)> user_chunks{};
    /// Makes the rule for the copies of an lcore (lib/runtime/copy_limits.hpp). Empty: by this machine.
    MakeStoresRule make_stores{};
    /// Makes the heap source of a sender; null: a HeapGenerator. The sender and the region table outlive the
    /// producer.
    std::function<std::unique_ptr<HeapSource>(const SendPlan&, send::Sender&, memory::RegionTable&)>
        make_heap_source{};
    /// Limits how long a port may take no packet of a sender. After that the port is given up.
    std::chrono::nanoseconds port_patience = std::chrono::seconds(2);
    /// Limits how long a consumer that a stream waits for may take for one heap.
    std::chrono::nanoseconds consumer_patience = std::chrono::seconds(60);
    /// Limits how long the holders of a filter's packets may keep them after the run ends.
    std::chrono::nanoseconds holder_patience = std::chrono::seconds(2);
    /// Limits how long senders may take for the heaps in flight: at a low rate that could be hours.
    std::chrono::nanoseconds longest_finish = std::chrono::seconds(5);
    /// Becomes readable when the start is no longer wanted: a start that waits for others then throws Error.
    /// -1: none.
    int interrupt_fd = -1;
    /// Lists the drivers of ports that may be opened during the run; empty: no port may. Outlives the engine.
    std::span<const port::Driver* const> drivers{};
    /// Leaves lcores without work asleep until they get some.
    bool rest_unused_lcores = false;
    /// Makes advice name configuration keys instead of command-line options.
    bool by_configuration = false;
    /// Holds what cures name besides the plan: the prompt's socket and the file.
    stats::RunSettings settings{};
    /// Is called on the main thread, within run(), for each event of a watched stream or of a sender
    /// (`stuck`, `unstuck`).
    std::function<void(const std::string& stream, const stats::LastEvent& event)> on_event{};
    /// Is called likewise when an lcore has not answered for a second, and when it answers again. `what` is a
    /// sentence that names the lcore. `at_s`: in the run.
    std::function<void(const std::string& what, double at_s)> on_lcore{};
    /// Is called likewise when an engine that moves payload has moved nothing for a second, and when that is
    /// over.
    std::function<void(const std::string& what, double at_s)> on_engine{};
    /// Limits how long an lcore may not answer before the run ends, unless the plan says otherwise
    /// (lcore_timeout). duration::max(): no limit. Once the run ends, no lcore is waited for longer than 10
    /// s.
    std::chrono::steady_clock::duration lcore_patience = std::chrono::seconds(30);
    /// Is called on the main thread, a few times a second, while a change or the end waits for an lcore that
    /// does not answer. It may call no function of the engine but mark_silent().
    std::function<void()> on_wait{};
};

/// Carries out a plan: ports, lcores, streams, senders and consumers, from start to orderly end.
///
/// EAL runs and outlives the engine. One thread, on the main lcore, makes all calls. It is the control
/// executor, and reaches what the worker lcores own only through their mailboxes.
class Engine {
  public:
    /// Opens the ports and allocates all memory. `layout` was made from `plan`. Throws Error; then nothing is
    /// left behind.
    Engine(const Plan& plan, const Layout& layout, const EngineHooks& hooks = {});
    /// Calls stop(). An lcore that does not answer even then keeps the objects that it works on; the log says
    /// so.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Starts ports and lcores, joins groups, and starts senders.
    void start();

    /// Says why run() returned.
    using Reason = EndReason;

    /// Runs until an end condition of the plan holds, or until `interrupt_fd` becomes readable (-1: none).
    /// Calls `tick` about five times a second with a snapshot.
    Reason run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick);

    /// Does one round of run() without its wait, for a process with its own event loop. Returns the reason
    /// when the run ends. Call it every 20 ms, and when the Executor's descriptor becomes readable.
    std::optional<Reason> step(const std::function<void(const stats::Snapshot&)>& tick);

    // While it runs; the main thread calls these, from tick, between steps, or through an Executor that run()
    // serves.

    /// Returns the present plan, with all changes since the start.
    const Plan& plan() const noexcept;

    /// Returns whether a stop item, or the end of its source, has ended a stream of the plan, and all its
    /// heaps were delivered. It has its endpoints until a change stops it.
    bool has_ended(std::size_t stream) const;

    /// Changes the running process to `wanted`, which config::validate accepts. Streams, endpoints and
    /// senders are added, removed and changed; streams move to other lcores; senders start, stop and change
    /// their rate. Unchanged parts lose nothing. A removed stream leaves its groups, is flushed and drained.
    /// A removed sender first sends its heaps in flight.
    ///
    /// Ports are added, too, if the hooks have a driver for them. Ports that nothing uses any more are then
    /// closed, and opened again for the next stream; they stay in the plan, and their counts in snapshots.
    ///
    /// Throws Error, and has changed nothing, when a difference cannot be made during a run (ports, memory,
    /// lcores, a sender's content; the error names it), or when there is no room. Throws Error, too, when a
    /// port refuses a rule or a membership, or when a sender cannot be made or started; the former state is
    /// restored.
    void reconfigure(const Plan& wanted);

    /// Lets senders send straight from the region, until remove_region(). Throws Error, and changes nothing,
    /// when the range is empty or overlaps another, when there are too many regions, or when a device
    /// refuses.
    void add_region(const memory::Region& region);
    /// Removes a region. No heap in flight may refer to it any more. Throws Error when no region starts at
    /// `base`.
    void remove_region(const std::byte* base);

    /// Stops or starts a port while the others run. Its groups are left and its rules removed, and come back
    /// with it; streams and senders wait. Throws Error when the port is already in that state, and when the
    /// device refuses.
    void stop_port(const std::string& port);
    void start_port(const std::string& port);

    /// Calls send::Sender::dummy on the sender's lcore. Throws Error for an unknown sender.
    send::DummyResult dummy(const std::string& send, std::uint32_t packets);

    /// Returns the present steering rules by port.
    std::vector<std::vector<stats::RuleSnapshot>> rules() const;
    /// Returns the device's own counters (rte_eth_xstats), by name. Throws Error for an unknown port.
    std::vector<std::pair<std::string, std::uint64_t>> xstats(const std::string& port) const;

    /// Lets run() serve the executor, which outlives the run. Call it before run().
    void serve(Executor& executor) noexcept;
    /// Lets run() end neither with its sources nor with its senders, because a user wants to look at them.
    void stay() noexcept;
    /// Makes run() return Reason::interrupted, like a Ctrl-C.
    void interrupt() noexcept;
    /// Captures a stream's packets into files from now on. Does not change whether they also become heaps.
    /// While the engine runs, call it on the main thread, from tick or through the executor. Throws
    /// UsageError for an unknown or already captured stream, and for a file that another capture still
    /// writes. Throws Error when a file cannot be made. After an exception nothing has changed.
    void start_capture(const std::string& stream, const capture::Options& options);
    /// Ends a stream's capture without waiting for the disks; its threads write the buffered packets. Returns
    /// its number for stopped_capture(). Throws UsageError when the stream is not being captured, Error when
    /// an lcore does not answer.
    std::uint64_t stop_capture(const std::string& stream);
    /// Returns the result of a stopped capture once run() has seen its files completed; until then nothing.
    /// If a file could not be written, that is the capture's `failure`, and one of the problems.
    std::optional<stats::CaptureSnapshot> stopped_capture(std::uint64_t number) const;

    /// Ends the run in order: senders finish, streams flush, consumers drain, lcores and ports stop.
    /// Idempotent; the destructor calls it, too. Failures are added to the problems. snapshot() still answers
    /// afterwards.
    void stop() noexcept;

    /// Returns a snapshot that is consistent per lcore: every identity of stats::broken_identities holds in
    /// it. An lcore that does not answer is one of the problems, and its last counts are used. Counts begin
    /// at the start, or at the last clear().
    stats::Snapshot snapshot();
    /// Marks in an earlier snapshot the lcores that do not answer now, and for how long.
    void mark_silent(stats::Snapshot& snapshot) const;
    /// Restarts the counts of snapshots at 0, with high-water marks, heap times and senders. Heaps in
    /// progress are reported as carried.
    void clear();
    /// Returns the counts alone, since the start. They decide whether a run was good.
    stats::Snapshot totals();

    /// Returns the reasons for exit status 1: wrong heaps, a failed sink or sender, a truncated source.
    const std::vector<std::string>& problems() const noexcept;
    /// Returns remarks for the user that are not errors.
    std::vector<std::string> remarks() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace spead::runtime
