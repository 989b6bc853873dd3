// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Makes an RX agent whose source is a port of DPDK's.
namespace spead::recv::test {

/// Holds a port as a source, with a stream.
class PortRig {
  public:
    explicit PortRig(const std::string& device, const LaneConfig& config = lane_config("s0", one_group()),
                     std::uint16_t tx_queues = 0)
        : port_(port::test::open_port(port::test::request(device, 1, tx_queues, 9000))),
          arena_(8U << 20, 512U << 10) {
        port_->start();
        source_.queue = port_->rx_queue(0);
        lane_ = std::make_unique<SpeadLane>(config, heap::PoolPlacer(arena_, arena_.capacity()));
        agent_.add_lane(*lane_);
        agent_.add_source(source_);
        for (std::size_t e = 0; e < config.endpoints.size(); e++)
            source_.classifier.add(config.endpoints[e], {0, static_cast<std::uint16_t>(e)});
        source_.lanes.push_back(0);
        source_.flows = FlowCache(source_.classifier.size());
    }
    ~PortRig() {
        for (int i = 0; i < 1000 && !agent_.flush(); i++)
            take();
        take();
        agent_.housekeep(now_);
        EXPECT_EQ(lane_->window.records_out(), 0U);
        EXPECT_EQ(arena_.in_use(), 0U);
        port_->stop();
        port_->close();
        EXPECT_EQ(port_->remarks(), remarks_) << "mbufs that did not come back are remarked";
    }

    bool poll() {
        const bool any = agent_.poll(now_ += 1000);
        for (const std::string& broken : stats::broken_identities(picture()))
            ADD_FAILURE() << broken;
        return any;
    }
    /// Polls until so many packets have come.
    void poll_until(std::uint64_t packets) {
        for (int i = 0; i < 100'000 && picture().ports[0].rx_packets < packets; i++)
            poll();
        poll();
        ASSERT_EQ(picture().ports[0].rx_packets, packets);
    }
    std::vector<Taken> take() {
        std::vector<Taken> all;
        while (heap::HeapHandle h = lane_->queue.try_pop())
            all.push_back(taken(h));
        return all;
    }
    stats::Snapshot picture() const {
        stats::Snapshot s;
        s.streams.emplace_back().name = "s0";
        s.streams.back().add(lane_->counters, lane_->queue.taken());
        s.ports.emplace_back().name = "p0";
        s.ports.back().add(source_.counters);
        return s;
    }
    port::Port& port() { return *port_; }
    /// Ends all live heaps.
    void flush() { ASSERT_TRUE(agent_.flush()); }
    SpeadLane& lane() { return *lane_; }
    const SpeadLane& lane() const { return *lane_; }
    const Source& source() const { return source_; }
    void expect_remarks() { remarks_ = port_->remarks(); }

  private:
    std::unique_ptr<port::Port> port_;
    memory::Arena arena_;
    std::unique_ptr<SpeadLane> lane_;
    Source source_;
    RxAgent agent_;
    std::uint64_t now_ = 1;
    std::vector<std::string> remarks_;
};

}  // namespace spead::recv::test
