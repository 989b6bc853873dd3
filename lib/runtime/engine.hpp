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
#include "runtime/end_conditions.hpp"
#include "runtime/executor.hpp"
#include "runtime/filters.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "runtime/sink.hpp"
#include "runtime/user_queues.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// The hooks of an engine: who consumes, and how long the end of a run waits for others.
struct EngineHooks {
    std::function<std::unique_ptr<Sink>(const SinkPlan&, const std::string& stream)> make_sink =
        runtime::make_sink;
    /// The filter of a stream on one of its lcores; null: none.
    std::function<std::unique_ptr<recv::PacketFilter>(const ReceivePlan&)> make_filter = runtime::make_filter;
    /// Whose heaps a stream with SinkKind::user has: the same for each name as long as the stream is there.
    std::function<std::shared_ptr<UserQueues>(const std::string& stream)> user_queues{};
    /// Null: a HeapGenerator. The sender and the region table outlive the heap source.
    std::function<std::unique_ptr<HeapSource>(const SendPlan&, send::Sender&, memory::RegionTable&)>
        make_heap_source{};
    /// A port that takes no packet of a sender for so long is given up.
    std::chrono::nanoseconds port_patience = std::chrono::seconds(2);
    /// A consumer that a stream waits for may take so long for one heap.
    std::chrono::nanoseconds consumer_patience = std::chrono::seconds(60);
    /// Who holds packets of a filter has so long to give them back once the run ends.
    std::chrono::nanoseconds holder_patience = std::chrono::seconds(2);
    /// Senders may take so long for the heaps in flight: at a low rate that could be hours.
    std::chrono::nanoseconds longest_finish = std::chrono::seconds(5);
    /// Readable when whoever starts the engine wants no more of it: a start that waits for others gives up
    /// then, with an Error. -1: none.
    int interrupt_fd = -1;
    /// Families of ports that may be opened while it runs; empty: none may. Outlives the engine.
    std::span<const port::Driver* const> drivers{};
    /// Lcores that nothing runs on are not started before something does.
    bool rest_unused_lcores = false;
    /// Advice names keys of a configuration, not options of a command.
    bool by_configuration = false;
    /// Called on the main thread, within run(), for an event of a stream that is watched, or of a sender
    /// (`stuck`, `unstuck`).
    std::function<void(const std::string& stream, const stats::LastEvent& event)> on_event{};
    /// Likewise, when an lcore has not answered for a second, and when it answers again: a sentence that
    /// names it.
    std::function<void(const std::string& what)> on_lcore{};
    /// The run ends when an lcore has not answered for so long, unless the plan says otherwise
    /// (lcore_timeout); duration::max(): never. Once the run ends no lcore is waited for longer than 10 s.
    std::chrono::steady_clock::duration lcore_patience = std::chrono::seconds(30);
    /// Called on the main thread, a few times a second, while a change or the end waits for an lcore that
    /// does not answer. No call of the engine is allowed from there but mark_silent().
    std::function<void()> on_wait{};
};

/// Carries out a plan: ports, lcores, streams, senders, consumers, from start to orderly end.
///
/// EAL runs and outlives the engine. One thread, on the main lcore, calls everything; it is the control
/// executor, and reaches what the worker lcores own only through their mailboxes.
class Engine {
  public:
    /// `layout` was made from `plan`. Opens the ports and makes all memory. Throws Error; then nothing is
    /// left behind.
    Engine(const Plan& plan, const Layout& layout, const EngineHooks& hooks = {});
    /// stop(). An lcore that does not come back even then keeps what it works on; the log says so.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Ports start, lcores poll, groups are joined, senders send.
    void start();

    /// Why run() returned.
    using Reason = EndReason;

    /// Until an end condition of the plan, or until `interrupt_fd` becomes readable (-1: none). Calls `tick`
    /// about five times a second with a snapshot.
    Reason run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick);

    /// Does one round of run() without its wait: for a process that has a loop of its own. Returns why the
    /// run ends, if it does. Call it every 20 ms, and when the Executor's descriptor becomes readable.
    std::optional<Reason> step(const std::function<void(const stats::Snapshot&)>& tick);

    // While it runs; the main thread calls these, from tick, between steps, or through an Executor that run()
    // serves.

    /// The plan as it is now: what was changed since the start included.
    const Plan& plan() const noexcept;

    /// Makes the running process what `wanted` says, which config::validate accepts: streams and endpoints
    /// come, go and change, streams move to other lcores, senders come, go, start, stop and change their
    /// rate. What is the same in both loses nothing. What is removed is left, flushed and drained first, or
    /// sends what is in flight.
    ///
    /// Ports come, too, where EngineHooks::drivers has some. Ports that nothing uses any more are then
    /// closed, and opened again for the next stream; they stay in the plan, and their counts in snapshots.
    ///
    /// Throws Error, and has changed nothing, when something differs that cannot change during a run (ports,
    /// memory, lcores, what a sender sends; it says which), or has no room; also when a port refuses a rule
    /// or a membership, or a sender cannot be made or started: then everything is as before.
    void reconfigure(const Plan& wanted);

    /// Lets senders send straight from the region, until remove_region(). Throws Error, and nothing has
    /// changed: an empty range, one that overlaps another, too many, or a device refuses.
    void add_region(const memory::Region& region);
    /// No heap in flight refers to the region any more. Throws Error when no region starts at `base`.
    void remove_region(const std::byte* base);

    /// Stops a port, or starts it again, while the others run: its groups are left and its rules removed, and
    /// come back with it; streams and senders wait. Throws Error when it is so already, and when the
    /// device refuses.
    void stop_port(const std::string& port);
    void start_port(const std::string& port);

    /// send::Sender::dummy on the sender's lcore. Throws Error for an unknown sender.
    send::DummyResult dummy(const std::string& send, std::uint32_t packets);

    /// What the ports' steering has at this moment, as ports.
    std::vector<std::vector<stats::RuleSnapshot>> rules() const;
    /// The device's own counters (rte_eth_xstats), by name. Throws Error for an unknown port.
    std::vector<std::pair<std::string, std::uint64_t>> xstats(const std::string& port) const;

    /// Has run() serve it; outlives the run. Before run().
    void serve(Executor& executor) noexcept;
    /// run() ends neither with its sources nor with its senders: there is a user who wants to look at them.
    void stay() noexcept;
    /// Has run() return Reason::interrupted, like a Ctrl-C.
    void interrupt() noexcept;
    /// Captures a stream's packets from now on, into files; where it goes on to heaps, that is not changed by
    /// it. While it runs: the main thread, from tick or through what run() serves. Throws UsageError for an
    /// unknown stream or one that is being captured, and for a file that another capture is still writing;
    /// Error when a file cannot be made; then nothing changed.
    void start_capture(const std::string& stream, const capture::Options& options);
    /// Takes it off the stream, and does not wait for the disks: its threads write what is buffered. Returns
    /// its number, for stopped_capture(). Throws UsageError when the stream is not being captured, Error when
    /// an lcore does not answer.
    std::uint64_t stop_capture(const std::string& stream);
    /// What a capture was that was stopped, as soon as run() has seen its files ended; until then nothing. A
    /// file that could not be written is its `failure`, and one of the problems.
    std::optional<stats::CaptureSnapshot> stopped_capture(std::uint64_t number) const;

    /// The orderly end: senders finish, streams flush, consumers drain, lcores and ports stop. Idempotent;
    /// the destructor calls it too. What goes wrong is one of the problems. After it snapshot() still
    /// answers.
    void stop() noexcept;

    /// Consistent per lcore: every identity of stats::broken_identities holds in it. An lcore that does not
    /// answer is one of the problems, and counts as it last answered. Counts are those since the start, or
    /// since clear() was called last.
    stats::Snapshot snapshot();
    /// Says in an earlier snapshot which lcores do not answer now, and for how long.
    void mark_silent(stats::Snapshot& snapshot) const;
    /// Snapshots begin at 0 again, and with them high-water marks, times of heaps and senders. Heaps that are
    /// under way are told as carried.
    void clear();
    /// The counts alone, since the start: what decides whether a run was good.
    stats::Snapshot totals();

    /// What must make the program's exit status 1: wrong heaps, a sink or sender that failed, a truncated
    /// source.
    const std::vector<std::string>& problems() const noexcept;
    /// Remarks for the user, about nothing wrong.
    std::vector<std::string> remarks() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace spead::runtime
