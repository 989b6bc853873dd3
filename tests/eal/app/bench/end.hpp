// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "app/bench/bench_heaps.hpp"
#include "memory/arena.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/sink.hpp"
#include "send/sender.hpp"
#include "tests/eal/port/port_rig.hpp"

/// Makes one end of a benchmark's link without an engine, on queues and a clock of the test's.
namespace spead::app::test {

inline const std::vector<Endpoint> kThere{{{0xEFFF4730}, 7148, {}}};
inline const std::vector<Endpoint> kBack{{{0xEFFF4730}, 7149, {}}};

/// Does in turn the work of an lcore and of a consumer at one end of the link.
class End {
  public:
    End(const std::vector<Endpoint>& receives, const std::vector<Endpoint>& sends, port::RxQueue rx,
        port::TxQueue tx, const runtime::SendPlan& plan, bool stamped)
        : arena_(1U << 20, 64U << 10),
          lane_(lane_config(receives), heap::PoolPlacer(arena_, arena_.capacity())),
          sender_(sender_config(sends, tx, plan)),
          heaps(plan, sender_, regions_, stamped) {
        source_.queue = rx;
        EXPECT_TRUE(source_.classifier.add(receives.front(), {agent_.add_lane(lane_), 0}));
        source_.lanes = {0};
        source_.flows = recv::FlowCache(source_.classifier.size());
        agent_.add_source(source_);
    }
    ~End() {
        heaps.request_stop();
        agent_.flush();
        agent_.drop_rest();
        while (lane_.queue.try_pop()) {
        }
        agent_.housekeep(0);
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    void turn(std::uint64_t now, runtime::Sink& sink) {
        agent_.poll(now);
        while (heap::HeapHandle heap = lane_.queue.try_pop())
            sink.consume(heap);
        sender_.poll(now);
    }

  private:
    static recv::LaneConfig lane_config(const std::vector<Endpoint>& endpoints) {
        recv::LaneConfig c;
        c.name = "s";
        c.endpoints = endpoints;
        c.window.max_heap_bytes = 64U << 10;
        return c;
    }
    static send::SenderConfig sender_config(const std::vector<Endpoint>& to, port::TxQueue queue,
                                            const runtime::SendPlan& plan) {
        send::SenderConfig c;
        c.name = "d";
        c.destinations = {{to.front(), {}}};
        c.source_ip = {0x0A000001};
        c.max_packet_size = runtime::packet_size(plan);
        c.max_heaps = plan.max_heaps;
        c.queue = queue;
        return c;
    }

    memory::Arena arena_;
    recv::SpeadLane lane_;
    recv::Source source_;
    recv::RxAgent agent_;
    memory::RegionTable regions_;
    send::Sender sender_;

  public:
    BenchHeaps heaps;
};

}  // namespace spead::app::test
