// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "memory/arena.hpp"
#include "recv/rx_agent.hpp"
#include "stats/snapshot.hpp"
#include "tests/eal/port/port_rig.hpp"
#include "tests/unit/recv/datagram.hpp"

/// Makes an RX agent with everything around it, on real mbufs.
namespace spead::recv::test {

using port::test::Pool;

/// Holds the mbufs that a test put into a receive queue, and hands them out in bursts.
class FakeRx {
  public:
    explicit FakeRx(const Pool& pool) : pool_(&pool) {}
    ~FakeRx() {
        for (rte_mbuf* const m : waiting_)
            rte_pktmbuf_free(m);
    }
    FakeRx(const FakeRx&) = delete;
    FakeRx& operator=(const FakeRx&) = delete;

    void add(rte_mbuf* m) { waiting_.push_back(m); }
    void add(const Bytes& frame) { add(pool_->make(frame)); }
    void add(const std::vector<Bytes>& frames) {
        for (const Bytes& f : frames)
            add(f);
    }
    /// Returns the frame in segments of these lengths, with the rest in a last one.
    rte_mbuf* chain(const Bytes& frame, const std::vector<std::size_t>& lengths) const {
        rte_mbuf* head = nullptr;
        std::size_t at = 0;
        for (std::size_t i = 0; i <= lengths.size(); i++) {
            const std::size_t left = frame.size() - at;
            const std::size_t n = i < lengths.size() ? std::min(lengths[i], left) : left;
            rte_mbuf* const m = pool_->make({frame.begin() + static_cast<std::ptrdiff_t>(at),
                                             frame.begin() + static_cast<std::ptrdiff_t>(at + n)});
            if (head == nullptr)
                head = m;
            else
                EXPECT_EQ(rte_pktmbuf_chain(head, m), 0);
            at += n;
        }
        return head;
    }

    port::RxQueue queue() { return {&burst, this, 3, nullptr}; }
    std::size_t waiting() const { return waiting_.size(); }
    std::uint64_t taken() const { return taken_; }
    /// Forgets so many of the taken packets, which were given up with their port.
    void forget(std::uint64_t packets) { taken_ -= packets; }
    /// Limits the size of a burst.
    std::uint16_t most = 64;

  private:
    static std::uint16_t burst(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t max) {
        auto* const self = static_cast<FakeRx*>(context);
        EXPECT_EQ(queue, 3);
        const auto n =
            static_cast<std::uint16_t>(std::min<std::size_t>({max, self->most, self->waiting_.size()}));
        for (std::uint16_t i = 0; i < n; i++) {
            mbufs[i] = self->waiting_.front();
            self->waiting_.pop_front();
        }
        self->taken_ += n;
        return n;
    }

    const Pool* pool_;
    std::deque<rte_mbuf*> waiting_;
    std::uint64_t taken_ = 0;
};

inline LaneConfig lane_config(const std::string& name, const std::vector<Endpoint>& endpoints) {
    LaneConfig c;
    c.name = name;
    c.endpoints = endpoints;
    c.window.max_heap_bytes = 256 * 1024;
    c.window.history_ticks = 1'000'000'000;
    return c;
}

inline std::vector<Endpoint> one_group(std::uint32_t address = Way{}.to) {
    return {{{address}, Way{}.port, {}}};
}

/// Copies a heap as a consumer had it.
struct Taken {
    std::uint64_t cnt = 0;
    bool complete = false;
    std::string payload;
    std::vector<std::uint64_t> items;  ///< as on the wire
    std::vector<heap::Range> missing;
    std::uint32_t source = 0;

    bool operator==(const Taken& o) const {
        return std::tie(cnt, complete, payload, items, missing) ==
               std::tie(o.cnt, o.complete, o.payload, o.items, o.missing);
    }
};

inline Taken taken(const heap::HeapHandle& h) {
    Taken t;
    t.cnt = h.cnt();
    t.complete = h.complete();
    t.payload.assign(reinterpret_cast<const char*>(h.payload().data()), h.payload().size());
    t.items.assign(h.item_words().begin(), h.item_words().end());
    t.missing = h.missing();
    t.source = h.source();
    // Missing bytes are left from before.
    for (const heap::Range& r : t.missing)
        std::fill(t.payload.begin() + r.begin, t.payload.begin() + r.end, '\0');
    return t;
}

/// Returns whether the heap is complete and holds the content that MadeHeap puts into it.
inline testing::AssertionResult is_whole(const Taken& t, const MadeHeap& made) {
    if (t.cnt != made.cnt)
        return testing::AssertionFailure() << "it is heap " << t.cnt << ", not " << made.cnt;
    if (!t.complete)
        return testing::AssertionFailure() << "heap " << t.cnt << " is not complete";
    if (t.payload.size() != made.length)
        return testing::AssertionFailure() << "it has " << t.payload.size() << " bytes";
    for (std::size_t i = 0; i < made.length; i++)
        if (static_cast<std::uint8_t>(t.payload[i]) != made.byte(i))
            return testing::AssertionFailure() << "byte " << i << " of heap " << t.cnt << " differs";
    return testing::AssertionSuccess();
}

/// Holds sources, lanes and the agent. Time is the test's. The destructor ends all heaps and fails the test
/// unless every record, byte and mbuf comes back and the counters add up.
class Rig {
  public:
    explicit Rig(std::size_t arena_bytes = 8U << 20, std::size_t largest = 512U << 10, unsigned mbufs = 1023,
                 std::uint16_t data_room = 9600)
        : pool(mbufs, data_room), arena(arena_bytes, largest) {}

    ~Rig() {
        // A queue that blocks needs its consumer to make room.
        for (int i = 0; i < 1000 && !agent.flush(); i++)
            take();
        agent.drop_rest();
        check();
        take();
        agent.housekeep(now);
        check();
        for (const auto& lane : lanes) {
            EXPECT_EQ(lane->window.records_out(), 0U) << lane->config.name << ": records did not come back";
            EXPECT_EQ(lane->window.placer().out(), 0U) << lane->config.name;
            EXPECT_EQ(lane->counters.heaps_live, 0U) << lane->config.name;
            EXPECT_EQ(lane->counters.heaps_waiting, 0U) << lane->config.name;
        }
        EXPECT_EQ(arena.in_use(), 0U) << "heap memory did not come back";
        queues.clear();
    }
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    /// Adds a source with a queue of its own; returns its number.
    std::size_t add_source() {
        queues.push_back(std::make_unique<FakeRx>(pool));
        sources.push_back(std::make_unique<Source>());
        sources.back()->queue = queues.back()->queue();
        agent.add_source(*sources.back());
        return sources.size() - 1;
    }
    /// Adds a stream that `source` serves, with a quota of the arena.
    SpeadLane& add_lane(std::size_t source, const LaneConfig& config, std::size_t quota = 0) {
        lanes.push_back(std::make_unique<SpeadLane>(
            config, heap::PoolPlacer(arena, quota == 0 ? arena.capacity() : quota)));
        const std::uint16_t number = agent.add_lane(*lanes.back());
        Source& s = *sources[source];
        for (std::size_t e = 0; e < config.endpoints.size(); e++)
            EXPECT_TRUE(s.classifier.add(config.endpoints[e], {number, static_cast<std::uint16_t>(e)}));
        s.lanes.push_back(number);
        s.flows = FlowCache(s.classifier.size());
        return *lanes.back();
    }

    FakeRx& queue(std::size_t source = 0) { return *queues[source]; }
    SpeadLane& lane(std::size_t i = 0) { return *lanes[i]; }

    /// Polls once; `now` goes on by 1000 ticks.
    bool poll() {
        now += 1000;
        const bool any = agent.poll(now);
        check();
        return any;
    }
    /// Polls until every queue is empty, and once more, which hands over the heaps that have ended.
    void poll_all() {
        while (poll()) {
        }
    }
    void give(const Bytes& frame, std::size_t source = 0) {
        queue(source).add(frame);
        poll_all();
    }
    void give(const std::vector<Bytes>& frames, std::size_t source = 0) {
        for (const Bytes& f : frames) {
            queue(source).add(f);
            if (queue(source).waiting() == 256)
                poll_all();
        }
        poll_all();
    }

    /// Takes all heaps that the lanes' queues hold, lane by lane.
    std::vector<Taken> take() {
        std::vector<Taken> all;
        for (const auto& lane : lanes)
            while (heap::HeapHandle h = lane->queue.try_pop())
                all.push_back(taken(h));
        return all;
    }

    stats::Snapshot picture() const {
        stats::Snapshot s;
        for (const auto& lane : lanes) {
            s.streams.emplace_back().name = lane->config.name;
            s.streams.back().add(lane->counters, lane->queue.taken());
        }
        for (const auto& source : sources) {
            s.ports.emplace_back().name = "p" + std::to_string(s.ports.size() - 1);
            s.ports.back().add(source->counters);
        }
        if (add_to_picture)
            add_to_picture(s);
        return s;
    }
    /// Checks that every packet that came is in exactly one counter, and that heaps add up.
    void check() const {
        const stats::Snapshot s = picture();
        for (const std::string& broken : stats::broken_identities(s))
            ADD_FAILURE() << broken;
        for (std::size_t i = 0; i < sources.size(); i++)
            EXPECT_EQ(s.ports[i].rx_packets, seen(i)) << "of source " << i;
        for (std::size_t i = 0; i < lanes.size(); i++)
            check_endpoints(*lanes[i], s.streams[i]);
        for (std::size_t n = 0; n < sources.size(); n++) {
            std::uint64_t told = sources[n]->unattributed + sources[n]->talkers.others();
            for (std::size_t i = 0; i < sources[n]->talkers.size(); i++)
                told += sources[n]->talkers[i].packets;
            EXPECT_EQ(told, seen(n)) << "by sender";
        }
        for (const stats::StreamSnapshot& stream : s.streams)
            for (const std::uint64_t n : stream.packets)
                EXPECT_LT(n, std::uint64_t{1} << 40) << "a counter went below zero";
    }

    /// Returns the number of packets that were taken from the source, do not wait for room, and are not held
    /// until their datagram is whole.
    std::uint64_t seen(std::size_t source) const {
        return queues[source]->taken() - sources[source]->waiting.count -
               sources[source]->counters.reassembly.held_now;
    }

    static void check_endpoints(const SpeadLane& lane, const stats::StreamSnapshot& s) {
        stats::EndpointCounters all;
        for (const stats::EndpointCounters& e : lane.endpoints) {
            all.packets += e.packets;
            all.bytes += e.bytes;
        }
        EXPECT_EQ(all.packets, s.received) << "by endpoint";
        EXPECT_EQ(all.bytes, s.bytes + s.control_bytes) << "by endpoint";
        std::uint64_t unplaced = 0;
        for (const stats::UnplacedCounters& u : lane.unplaced)
            unplaced += u.all;
        // Packets that count as control or contradictory only once their heap has ended were placed first.
        const auto of = [&s](PacketOutcome o) { return s.packets[static_cast<std::size_t>(o)]; };
        EXPECT_GE(s.received - unplaced, of(PacketOutcome::placed)) << "by endpoint";
        EXPECT_LE(s.received - unplaced,
                  of(PacketOutcome::placed) + of(PacketOutcome::control) + of(PacketOutcome::inconsistent))
            << "by endpoint";
    }

    std::uint64_t count(PortOutcome o, std::size_t source = 0) const { return sources[source]->counters[o]; }
    std::uint64_t count(PacketOutcome o, std::size_t lane = 0) const { return lanes[lane]->counters[o]; }
    std::uint64_t ended(HeapEnd e, std::size_t lane = 0) const {
        return lanes[lane]->counters.heaps_ended[static_cast<std::size_t>(e)];
    }
    /// Returns the sum of all outcomes of a port or stream but one.
    std::uint64_t others(PortOutcome o, std::size_t source = 0) const {
        return picture().ports[source].rx_packets - count(o, source);
    }
    std::uint64_t others(PacketOutcome o, std::size_t lane = 0) const {
        return picture().streams[lane].received - count(o, lane);
    }

    /// Adds a test's own parts to the snapshot.
    std::function<void(stats::Snapshot&)> add_to_picture;

    Pool pool;
    memory::Arena arena;
    std::deque<std::unique_ptr<FakeRx>> queues;
    std::deque<std::unique_ptr<Source>> sources;
    std::deque<std::unique_ptr<SpeadLane>> lanes;
    RxAgent agent;
    std::uint64_t now = 1;
};

/// Makes the usual case: one source, one stream, one group.
struct OneStream : Rig {
    explicit OneStream(const LaneConfig& config = lane_config("s0", one_group())) {
        add_source();
        add_lane(0, config);
    }
};

}  // namespace spead::recv::test
