// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <gmock/gmock.h>
#include <mutex>

#include <rte_mbuf.h>

#include "recv/held_packets.hpp"
#include "tests/eal/runtime/rig.hpp"

/// Filters in whole runs: made for each lcore, asked for every packet, their held packets back before ports
/// stop.
namespace spead::runtime::test {
namespace {

using recv::FilterAnswer;
using recv::FilterPacket;
using recv::HeldPacket;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Holds the state that a test's filters share.
struct Shared {
    std::mutex mutex;
    std::vector<HeldPacket> held;
    std::atomic<int> made{0};
    std::atomic<int> ended{0};
    bool gives_back = true;
};

class Holding : public recv::PacketFilter {
  public:
    explicit Holding(Shared& shared) : shared_(shared) { shared_.made++; }
    FilterAnswer look(const FilterPacket& p) noexcept override {
        return p.heap_count() % 10 == 3 ? FilterAnswer::hold_or_drop : FilterAnswer::keep;
    }
    void lent(HeldPacket packet) noexcept override {
        const std::lock_guard lock(shared_.mutex);
        shared_.held.push_back(std::move(packet));
    }
    void ending() noexcept override {
        shared_.ended++;
        const std::lock_guard lock(shared_.mutex);
        if (shared_.gives_back)
            shared_.held.clear();
    }

  private:
    Shared& shared_;
};

EngineHooks with(Shared& shared) {
    EngineHooks s;
    s.make_filter = [&shared](const ReceivePlan&) { return std::make_unique<Holding>(shared); };
    return s;
}

/// Makes a loopback that copies. A ring carries the sender's own buffers: a heap sent without copying would
/// be in flight while they are held.
Plan copied_loopback(std::int64_t heaps) {
    Plan plan = loopback(heaps);
    plan.sends[0].zero_copy = ZeroCopySetting::never;
    return plan;
}

TEST(FiltersOfARun, HoldUpToTheirLimitAndGiveBackAtTheEnd) {
    Plan plan = copied_loopback(100);
    plan.receives[0].held_buffers = 30;
    Shared shared;
    const Ended e = run(plan, layout_of(plan), -1, {}, with(shared));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_THAT(e.remarks, IsEmpty());
    EXPECT_EQ(shared.made, 1);
    EXPECT_EQ(shared.ended, 1);
    EXPECT_EQ(e.complete(), 90U);
    EXPECT_EQ(e.stream().heaps_verified, 90U);
    EXPECT_EQ(e.packets(PacketOutcome::held), 30U);
    EXPECT_GT(e.packets(PacketOutcome::filtered), 0U);
    EXPECT_EQ(e.packets(PacketOutcome::filtered), e.stream().hold_refused);
    EXPECT_EQ(e.stream().held_now, 0U);
}

TEST(FiltersOfARun, WhosePacketsDoNotComeBackAreTold) {
    Plan plan = copied_loopback(100);
    plan.ports[0].device = "net_ring7";
    plan.receives[0].held_buffers = 30;
    Shared shared;
    shared.gives_back = false;
    EngineHooks hooks = with(shared);
    hooks.holder_patience = std::chrono::milliseconds(20);
    const Ended e = run(plan, layout_of(plan), -1, {}, hooks);
    EXPECT_THAT(e.problems, ElementsAre(HasSubstr("30 held packets were not given back")));
    EXPECT_EQ(e.stream().held_now, 30U);
    // They are still there to be read, and may go when they like.
    EXPECT_EQ(shared.held.size(), 30U);
    for (const HeldPacket& packet : shared.held) {
        std::array<std::span<const std::byte>, 1> piece;
        EXPECT_EQ(packet->payload(piece), 1U);
        EXPECT_EQ(piece[0].size(), packet->payload_length());
    }
    std::vector<rte_mbuf*> mbufs;
    for (const HeldPacket& packet : shared.held)
        mbufs.push_back(const_cast<rte_mbuf*>(packet->mbuf()));
    shared.held.clear();
    // The stream is gone, so this test frees what it left behind.
    rte_mempool* const pool = mbufs.front()->pool;
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
    EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
    rte_mempool_free(pool);
}

TEST(FiltersOfARun, AreMadeForEveryLcoreOfAStream) {
    Plan plan = loopback(200);
    plan.receives[0].lcores = {0, 1};
    plan.receives[0].filter = "heap % 2 == 1 or control";
    Layout layout = layout_of(plan);
    ASSERT_EQ(layout.workers.size(), 2U);
    const Ended e = run(plan, layout);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.complete(), 100U);
    EXPECT_EQ(e.stream().heaps_verified, 100U);
    EXPECT_GT(e.packets(PacketOutcome::filtered), 0U);
    EXPECT_EQ(e.packets(PacketOutcome::filtered) + e.packets(PacketOutcome::placed) + 1, e.stream().received);
    EXPECT_EQ(e.packets(PacketOutcome::control), 1U);
}

TEST(FiltersOfARun, MakeThePoolsLarger) {
    Plan plan = loopback(1);
    const std::uint32_t before = layout_of(plan).ports[0].device.rx.mbufs;
    plan.receives[0].held_buffers = 500;
    EXPECT_EQ(layout_of(plan).ports[0].device.rx.mbufs, before + 500);
}

}  // namespace
}  // namespace spead::runtime::test
