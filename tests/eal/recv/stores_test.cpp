// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests which stores the agent's copies use, and that heaps are right with all.
namespace spead::recv {
namespace {

using memory::CopySetting;
using memory::Stores;
using memory::StoresRule;
using test::frame;
using test::is_whole;
using test::lane_config;
using test::MadeHeap;
using test::one_group;
using test::Rig;
using test::Way;

constexpr std::size_t kHeap = 60'000;
constexpr std::size_t kBlock = 65'536;

class CopyStores : public ::testing::Test {
  protected:
    /// Adds a stream to the group of that number.
    SpeadLane& add(CopySetting copy, std::uint32_t group = 0) {
        LaneConfig config = lane_config("s" + std::to_string(group), one_group(Way{}.to + group));
        config.copy = copy;
        return rig.add_lane(0, config);
    }
    /// Sends a heap, in packets of odd lengths and, if wanted, in two segments.
    void send(std::uint64_t cnt, std::uint32_t group = 0, bool chained = false) {
        const MadeHeap heap{.cnt = cnt, .length = kHeap, .packet = 1433};
        Way way;
        way.to += group;
        for (const test::Bytes& datagram : heap.datagrams()) {
            const test::Bytes bytes = frame(datagram, way);
            if (chained)
                rig.queue().add(rig.queue().chain(bytes, {bytes.size() / 3}));
            else
                rig.queue().add(bytes);
        }
        rig.poll_all();
    }
    void expect_whole(std::uint64_t cnt) {
        const auto heaps = rig.take();
        ASSERT_EQ(heaps.size(), 1U);
        EXPECT_TRUE(is_whole(heaps[0], {.cnt = cnt, .length = kHeap}));
    }
    /// Lets the agent choose again.
    void let_choose() {
        rig.now += 1'000'000'000'000;
        rig.agent.housekeep(rig.now);
    }

    Rig rig;
    std::size_t source = rig.add_source();
};

TEST_F(CopyStores, HeapsAreWholeWithEachKind) {
    std::uint64_t cnt = 0;
    for (const CopySetting copy : {CopySetting::cached, CopySetting::streaming}) {
        const auto group = static_cast<std::uint32_t>(copy);
        const SpeadLane& lane = add(copy, group);
        for (const bool chained : {false, true}) {
            send(++cnt, group, chained);
            expect_whole(cnt);
        }
        let_choose();
        EXPECT_EQ(lane.stores, copy == CopySetting::streaming ? Stores::streaming : Stores::cached);
        EXPECT_EQ(lane.counters.streaming_now, copy == CopySetting::streaming ? 1U : 0U);
    }
}

TEST_F(CopyStores, FollowTheMemoryInRotation) {
    rig.agent.set_stores(StoresRule(3 * kBlock));
    SpeadLane& lane = add(CopySetting::automatic);
    std::uint64_t cnt = 0;
    // Each heap is given back before the next begins.
    for (int i = 0; i < 20; i++) {
        send(++cnt);
        expect_whole(cnt);
    }
    let_choose();
    EXPECT_EQ(lane.counters.rotating_bytes, kBlock) << "each heap begins in the memory of the one before";
    EXPECT_EQ(lane.stores, Stores::cached);
    // Five are kept at a time.
    for (int i = 0; i < 5; i++)
        send(++cnt);
    EXPECT_EQ(rig.take().size(), 5U);
    let_choose();
    EXPECT_EQ(lane.counters.rotating_bytes, 5 * kBlock);
    EXPECT_EQ(lane.stores, Stores::streaming);
    EXPECT_EQ(lane.counters.streaming_now, 1U);
    send(++cnt);
    expect_whole(cnt);
    let_choose();
    let_choose();
    EXPECT_EQ(lane.stores, Stores::cached) << "little is in rotation again";
    EXPECT_EQ(lane.counters.streaming_now, 0U);
}

TEST_F(CopyStores, StreamsOfAnLcoreShareItsCache) {
    rig.agent.set_stores(StoresRule(4 * kBlock));
    SpeadLane& large = add(CopySetting::automatic);
    SpeadLane& small = add(CopySetting::automatic, 1);
    for (std::uint64_t cnt = 1; cnt <= 8; cnt++)
        send(cnt);
    send(1, 1);
    EXPECT_EQ(rig.take().size(), 9U);
    let_choose();
    EXPECT_EQ(large.stores, Stores::streaming);
    EXPECT_EQ(small.stores, Stores::cached);
}

TEST_F(CopyStores, LeaveTheCacheAtOnceAndComeBackNotMoreOftenThanEightTimesASecond) {
    rig.agent.set_stores(StoresRule(kBlock));
    let_choose();
    SpeadLane& lane = add(CopySetting::automatic);
    send(1);
    rig.agent.housekeep(rig.now);
    EXPECT_EQ(lane.stores, Stores::cached);
    send(2);
    EXPECT_EQ(rig.take().size(), 2U);
    rig.agent.housekeep(rig.now);
    EXPECT_EQ(lane.stores, Stores::streaming);
    EXPECT_EQ(lane.counters.rotating_bytes, 2 * kBlock);
    EXPECT_EQ(lane.counters.streaming_now, 1U);
    send(3);
    EXPECT_EQ(rig.take().size(), 1U);
    rig.agent.housekeep(rig.now);
    EXPECT_EQ(lane.stores, Stores::streaming);
}

}  // namespace
}  // namespace spead::recv
