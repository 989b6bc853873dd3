// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gather/engine.hpp"
#include "memory/region.hpp"
#include "port/driver.hpp"
#include "recv/gathering.hpp"
#include "runtime/engine_watch.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Holds the engines of a run that move payload into heaps: one of each kind, made when the first stream
/// wants it, and a gathering for each lcore that uses it. Main thread.
class GatherEngines {
  public:
    /// Is called when an engine stands still (true), or does so no longer.
    using OnStall = std::function<void(HeapEngine kind, bool stalled, const EngineWatch& watch)>;

    /// Makes none. `cpus`: for their threads; none: any.
    explicit GatherEngines(std::vector<unsigned> cpus = {}, OnStall on_stall = {})
        : cpus_(std::move(cpus)), on_stall_(std::move(on_stall)) {}
    /// Stops engines that a failed start leaves: they know memory of pools, which go next.
    ~GatherEngines();
    GatherEngines(const GatherEngines&) = delete;
    GatherEngines& operator=(const GatherEngines&) = delete;

    /// Returns the engine; makes it if necessary. Throws Error when the machine has no such engine.
    std::shared_ptr<gather::Engine> engine(HeapEngine kind);
    /// Returns the gathering of an lcore, by its number, for a stream of the port. The lanes of the lcore
    /// share it. It keeps no more mbufs than the port's pools have for it, beyond those of the queues. A
    /// stream that gets its engine during the run may find none of them: then a part of the queues' has to
    /// do, with a warning.
    std::shared_ptr<recv::Gathering> gathering(HeapEngine kind, unsigned lcore,
                                               const port::PlannedPort& port);
    /// Gives a port that cuts packets the engine of its streams, whose memory it receives payload into.
    /// Before it is opened. Throws Error when the machine has no such engine.
    void give_memory(const Plan& plan, port::PlannedPort& port);
    /// Throws Error if the port cuts packets for another engine.
    void check_memory(const port::PlannedPort& port, HeapEngine kind) const;
    bool any() const noexcept { return !engines_.empty(); }
    std::size_t count() const noexcept { return engines_.size(); }
    /// Returns whether an engine knows the memory of packets: then ports and senders stay as they are.
    bool know_memory() const noexcept { return engines_.contains(HeapEngine::cuda); }
    /// Makes the memory of all pools, and `regions`, known to engines that need it. After a new engine, pool
    /// or region, before the first packet of it. Throws Error.
    void register_packets(const std::vector<memory::Region>& regions);

    /// Looks whether the engines move what they have, and reports changes. Call it at every round.
    void watch(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());
    /// Returns the engines that were made, with what watch() has seen of them.
    const std::map<HeapEngine, EngineWatch>& watches() const noexcept { return watches_; }
    /// Returns whether one of them stands still.
    bool any_stalled() const noexcept;
    /// Throws Error while it stands still: what is asked of a GPU then may take for ever.
    void need_moving(HeapEngine kind) const;
    /// Lets consumers wait no longer for an engine that stands still, because the run ends.
    void end_fetches();

    /// Stops all engines, within a few seconds. Lcores have ended. Returns a sentence for each that stands
    /// still; what it may still read or write stays allocated.
    std::vector<std::string> stop();
    /// Returns why engines have failed, each once.
    std::vector<std::string> failures() const;

  private:
    /// Holds the gathering of an lcore, and its shares of the ports' mbufs, by the ports' names.
    struct Use {
        std::shared_ptr<recv::Gathering> gathering;
        std::map<std::string, std::uint32_t> shares;
        ChannelWatch watch;
    };

    void let_unused_go();
    std::uint32_t share_out(Use& use, const port::PlannedPort& port);
    static void limit(recv::Gathering& gathering, std::uint32_t most, const std::string& port);

    const std::vector<unsigned> cpus_;
    const OnStall on_stall_;
    std::map<HeapEngine, std::shared_ptr<gather::Engine>> engines_;
    std::map<HeapEngine, EngineWatch> watches_;
    std::map<std::pair<HeapEngine, unsigned>, Use> gatherings_;
    bool stopped_ = false;  ///< by stop()
};

}  // namespace spead::runtime
