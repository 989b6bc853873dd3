// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <cstring>
#include <gmock/gmock.h>
#include <memory>
#include <thread>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "tests/eal/runtime/live_rig.hpp"
#include "tests/support/fragments.hpp"
#include "tests/unit/wire/frames.hpp"

/// Tests datagrams some of whose fragments came before their streams moved to another lcore.
namespace spead::runtime::test {
namespace {

using spead::test::FragmentBytes;

struct FreePool {
    void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};

/// Puts frames into the ring of the device net_ring0, from where its queue brings them.
class Feeder {
  public:
    Feeder() : pool_(rte_pktmbuf_pool_create("moved_fragments", 255, 0, 0, 2048, SOCKET_ID_ANY)) {}

    void give(const FragmentBytes& frame) const {
        rte_ring* const ring = rte_ring_lookup("ETH_RXTX0_net_ring0");
        ASSERT_NE(ring, nullptr);
        rte_mbuf* const m = rte_pktmbuf_alloc(pool_.get());
        ASSERT_NE(m, nullptr);
        std::memcpy(rte_pktmbuf_append(m, static_cast<std::uint16_t>(frame.size())), frame.data(),
                    frame.size());
        ASSERT_EQ(rte_ring_enqueue(ring, m), 0);
    }

  private:
    std::unique_ptr<rte_mempool, FreePool> pool_;
};

std::vector<FragmentBytes> two_fragments(std::uint32_t id) {
    wire::test::Frame frame;
    frame.fragment = 0;
    frame.payload.assign(2000, 7);
    return spead::test::fragments_of(spead::test::with_udp_sum(frame.build()), id);
}

const stats::ReassemblyCounts& reassembly(const stats::Snapshot& s) {
    return s.ports[0].reassembly;
}

/// Looks at the counts until the condition holds, for as long as fragments are kept. Returns whether it does.
template <class Condition>
bool holds_soon(Engine& engine, Condition&& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < until) {
        if (condition(engine.snapshot()))
            return true;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return false;
}

/// Moves all streams between two fragments of a datagram. Returns whether it is put together.
bool is_whole_after_move(Engine& engine, const Feeder& feeder, unsigned cpu, std::uint32_t id) {
    const std::vector<FragmentBytes> fragments = two_fragments(id);
    const std::uint64_t before = reassembly(engine.snapshot()).datagrams;
    feeder.give(fragments.at(0));
    if (!holds_soon(engine, [](const stats::Snapshot& s) { return reassembly(s).held_now == 1; }))
        return false;
    Plan plan = engine.plan();
    for (ReceivePlan& r : plan.receives)
        r.lcores = {cpu};
    engine.reconfigure(plan);
    expect_identities(engine.snapshot());
    feeder.give(fragments.at(1));
    return holds_soon(engine,
                      [before](const stats::Snapshot& s) { return reassembly(s).datagrams > before; });
}

/// Lets the streams go from the lcore that polls the queue to one behind it, and back. A slow machine may
/// take longer than fragments are kept: then they are given up, and it is tried again.
TEST(MovedFragments, AreWithTheirStreams) {
    constexpr int kTries = 20;
    const auto feeder = std::make_unique<Feeder>();
    Script script;
    script.add([&feeder](Engine& engine, const stats::Snapshot&) {
        std::uint32_t id = 1;
        for (const unsigned cpu : {6U, 5U}) {
            bool whole = false;
            for (int i = 0; i < kTries && !whole; i++) {
                whole = is_whole_after_move(engine, *feeder, cpu, id++);
                if (whole)
                    break;
                // Back, for the next try.
                Plan plan = engine.plan();
                for (ReceivePlan& r : plan.receives)
                    r.lcores = {cpu == 6 ? 5U : 6U};
                engine.reconfigure(plan);
            }
            EXPECT_TRUE(whole) << "to CPU " << cpu;
        }
    });
    Plan plan = live_plan(2);
    plan.sends.clear();
    plan.ports[0].reassemble = true;
    set_endpoints(plan.receives[0], {"239.1.2.3:7148"});
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, testing::IsEmpty());
    EXPECT_GE(e.last.ports[0].rx[static_cast<std::size_t>(PortOutcome::reassembled)], 2U);
    EXPECT_EQ(reassembly(e.last).held_now, 0U);
}

}  // namespace
}  // namespace spead::runtime::test
