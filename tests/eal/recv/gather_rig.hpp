// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <gmock/gmock.h>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gather/fake_engine.hpp"
#include "tests/eal/recv/rig.hpp"

/// Makes an RX agent on a port of DPDK's, whose heaps lie in memory that only an engine may touch.
namespace spead::recv::test {

/// Holds a ring as a port, a stream of heaps in the memory of an engine, and, if asked for, another one with
/// heaps of the lcore's own. The destructor expects everything back: records, memory and mbufs.
class GatherRig {
  public:
    static constexpr std::size_t kMemory = std::size_t{16} << 20;

    explicit GatherRig(std::size_t batches = 8,
                       const LaneConfig& config = with_records(lane_config("s0", one_group())),
                       std::uint32_t split = 0)
        : GatherRig(std::make_unique<gather::FakeEngine>(), batches, config, split) {}
    /// Takes the bytes after which the port cuts its packets (`split`); 0: it leaves them whole.
    GatherRig(std::unique_ptr<gather::FakeEngine> made, std::size_t batches, const LaneConfig& config,
              std::uint32_t split = 0)
        : engine(std::move(made)),
          region(engine->allocate(kMemory)),
          arena({region->base, region->length}, 512U << 10),
          channel(engine->connect(batches)),
          gathering(std::make_shared<Gathering>(channel)),
          port_(open(engine, split)) {
        port_->start();
        source.queue = port_->rx_queue(0);
        lane = std::make_unique<SpeadLane>(config, heap::PoolPlacer(arena, arena.capacity()));
        lane->gather_with(gathering);
        add(*lane);
        agent.add_source(source);
    }
    ~GatherRig() {
        end();
        take();
        agent.housekeep(now += 1000);
        EXPECT_EQ(lane->window.records_out(), 0U);
        EXPECT_EQ(arena.in_use(), 0U) << "heap memory did not come back";
        EXPECT_TRUE(was_given_up || !agent.is_gathering());
        check();
        // Packets that wait for their room go with the port.
        source.waiting.drop();
        port_->stop();
        port_->close();
        if (!was_given_up) {
            EXPECT_THAT(port_->remarks(),
                        testing::Not(testing::Contains(testing::HasSubstr("not returned"))));
        }
    }
    GatherRig(const GatherRig&) = delete;
    GatherRig& operator=(const GatherRig&) = delete;

    /// Adds a stream of another group to the lcore, which outlives the rig.
    void add_beside(SpeadLane& l) {
        beside = &l;
        add(l);
    }
    /// Adds a stream whose heaps lie in ordinary memory, to another group.
    SpeadLane& add_host_lane(std::uint32_t group) {
        host_arena = std::make_unique<memory::Arena>(8U << 20, 512U << 10);
        host_lane = std::make_unique<SpeadLane>(lane_config("s1", one_group(group)),
                                                heap::PoolPlacer(*host_arena, host_arena->capacity()));
        add(*host_lane);
        return *host_lane;
    }

    port::TxQueue tx() { return port_->tx_queue(0); }
    /// Sends a frame into the port; polls while the ring has no room, because an engine is behind. Returns
    /// false, and fails, if it stays full; then the frame is freed.
    bool send(rte_mbuf* m) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (tx().tx_burst(&m, 1) == 0) {
            if (std::chrono::steady_clock::now() > end) {
                rte_pktmbuf_free(m);
                ADD_FAILURE() << "the ring stays full";
                return false;
            }
            poll();
            std::this_thread::yield();
        }
        return true;
    }
    bool poll() {
        const bool any = agent.poll(now += ticks);
        check();
        return any;
    }
    /// Polls until so many packets have come, or nothing more does for a while.
    void poll_until(std::uint64_t packets) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (received() < packets && std::chrono::steady_clock::now() < end)
            if (!poll())
                std::this_thread::yield();
        ASSERT_EQ(received(), packets);
    }
    /// Polls until something is so, for a while.
    template <typename Until>
    void poll_while_not(const Until& until) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!until()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            poll();
            std::this_thread::yield();
        }
    }
    /// Polls until all payload is in its heaps, and these are queued.
    void settle() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        do {
            now += 1'000'000;
            poll();
            std::this_thread::yield();
        } while (agent.is_gathering() && std::chrono::steady_clock::now() < end);
        poll();
        ASSERT_FALSE(agent.is_gathering());
    }
    /// Ends all heaps.
    void end() {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!agent.flush() && std::chrono::steady_clock::now() < limit) {
            if (keep != nullptr)
                for (Taken& t : take())
                    keep->push_back(std::move(t));
            std::this_thread::yield();
        }
        check();
    }
    /// Takes the heaps of the engine's memory, fetched.
    std::vector<Taken> take() {
        std::vector<Taken> all;
        while (heap::HeapHandle h = lane->queue.try_pop())
            all.push_back(fetched(h));
        if (host_lane)
            while (heap::HeapHandle h = host_lane->queue.try_pop())
                of_host.push_back(taken(h));
        return all;
    }
    Taken fetched(const heap::HeapHandle& h) const {
        Taken t;
        t.cnt = h.cnt();
        t.complete = h.complete();
        t.payload.resize(h.size());
        if (!t.payload.empty())
            engine->fetch(h.payload().data(), std::as_writable_bytes(std::span(t.payload)));
        t.items.assign(h.item_words().begin(), h.item_words().end());
        t.missing = h.missing();
        for (const heap::Range& r : t.missing)
            std::fill(t.payload.begin() + r.begin, t.payload.begin() + r.end, '\0');
        return t;
    }

    stats::Snapshot picture() const {
        stats::Snapshot s;
        for (const SpeadLane* const l : {lane.get(), host_lane.get(), beside}) {
            if (l == nullptr)
                continue;
            s.streams.emplace_back().name = l->config.name;
            s.streams.back().add(l->counters, l->queue.taken());
        }
        s.ports.emplace_back().name = "p0";
        s.ports.back().add(source.counters);
        return s;
    }
    void check() const {
        const stats::Snapshot s = picture();
        for (const std::string& broken : stats::broken_identities(s))
            ADD_FAILURE() << broken;
        for (const stats::StreamSnapshot& one : s.streams)
            EXPECT_LT(one.heaps_queued, std::uint64_t{1} << 40) << "a counter went below zero";
        EXPECT_LE(channel->in_flight(), channel->batches().size());
    }
    std::uint64_t received() const { return picture().ports[0].rx_packets; }
    std::uint64_t count(PacketOutcome o) const { return lane->counters[o]; }
    std::uint64_t ended() const {
        std::uint64_t all = 0;
        for (const std::uint64_t n : lane->counters.heaps_ended)
            all += n;
        return all;
    }

    static LaneConfig with_records(LaneConfig c) {
        c.window.copying = 4096;
        c.queue_heaps = 4096;
        return c;
    }

    std::shared_ptr<gather::FakeEngine> engine;
    std::shared_ptr<const memory::Region> region;
    memory::Arena arena;
    std::shared_ptr<gather::Channel> channel;
    std::shared_ptr<Gathering> gathering;
    Source source;
    std::unique_ptr<memory::Arena> host_arena;
    std::unique_ptr<SpeadLane> lane;
    std::unique_ptr<SpeadLane> host_lane;  ///< null: none
    SpeadLane* beside = nullptr;           ///< the test's; null: none
    RxAgent agent;
    std::vector<Taken> of_host;          ///< heaps that take() found there
    std::vector<Taken>* keep = nullptr;  ///< for heaps that come at the end
    std::uint64_t now = 1;
    std::uint64_t ticks = 1000;  ///< between polls
    bool was_given_up = false;

  private:
    static std::unique_ptr<port::Port> open(const std::shared_ptr<gather::FakeEngine>& engine,
                                            std::uint32_t split) {
        port::PortRequest request = port::test::request("net_ring0", 1, 1, 9000);
        request.split = split;
        request.gathered_mbufs = split == 0 ? 0 : 4096;
        port::PlannedPort planned = port::plan_ports({&request, 1}, drivers::table()).front();
        planned.payload_engine = engine;
        return port::Port::open(planned);
    }
    void add(SpeadLane& l) {
        const std::uint16_t number = agent.add_lane(l);
        EXPECT_TRUE(source.classifier.add(l.config.endpoints[0], {number, 0}));
        source.lanes.push_back(number);
        source.flows = FlowCache(source.classifier.size());
    }

    std::unique_ptr<port::Port> port_;
};

}  // namespace spead::recv::test
