// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/splitter.hpp"
#include "wire/net.hpp"

/// Tests packets whose payload a port put into an engine's memory: a byte of it that the CPU reads ends the
/// test's process.
namespace spead::recv::test {
namespace {

/// Returns the length of a frame's headers: all of its bytes before the payload.
std::size_t headers_of(const MadeHeap& h) {
    return h.frames()[0].size() - std::min<std::size_t>(h.packet, h.length);
}

TEST(GatherSplit, AnyCutAfterTheHeadersIsRight) {
    GatherRig rig(4);
    Splitter sending(rig);
    MadeHeap h{.length = 150, .packet = 90};
    const std::size_t first = std::max(wire::kMaxNetHeader, headers_of(h));
    const std::size_t frame = h.frames()[0].size();
    for (std::size_t cut = first; cut <= frame + 1; cut++) {
        h.cnt = cut;
        for (const Bytes& f : h.frames())
            ASSERT_NO_FATAL_FAILURE(sending.send(f, cut));
    }
    rig.poll_until(sending.sent);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), frame + 2 - first);
    for (const Taken& t : heaps) {
        h.cnt = t.cnt;
        ASSERT_TRUE(is_whole(t, h));
    }
    EXPECT_GT(rig.source.counters.multi_segment, 0U);
    EXPECT_LT(rig.source.counters.multi_segment, sending.sent) << "short packets are not cut";
}

TEST(GatherSplit, ManyItemsBeforeTheCutAreKept) {
    GatherRig rig;
    Splitter sending(rig);
    MadeHeap h{.cnt = 5, .length = 4000, .packet = 1000};
    for (std::uint64_t i = 0; i < 60; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    for (const Bytes& f : h.frames())
        ASSERT_NO_FATAL_FAILURE(sending.send(f, headers_of(h)));
    rig.poll_until(sending.sent);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
    EXPECT_EQ(heaps[0].items.size(), 60U);
}

TEST(GatherSplit, BothMbufsOfAPacketStayWithAnEngineThatIsBehind) {
    GatherRig rig(2);
    rig.engine->faults().stalls = true;
    Splitter sending(rig);
    constexpr std::uint64_t kHeaps = 100;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 500, .packet = 500}.frames()[0],
                                             wire::kMaxNetHeader));
    rig.poll_until(kHeaps);
    rig.now += 1'000'000;
    rig.poll();
    EXPECT_EQ(sending.in_use(), kHeaps);
    EXPECT_TRUE(rig.take().empty());
    rig.engine->faults().stalls = false;
    rig.settle();
    EXPECT_TRUE(sending.full());
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), kHeaps);
    for (std::uint64_t i = 0; i < kHeaps; i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 500}));
}

TEST(GatherSplit, BothMbufsComeBackFromAnEngineThatFails) {
    GatherRig rig;
    rig.engine->faults().fails_after = 1;
    Splitter sending(rig);
    constexpr std::uint64_t kHeaps = 1000;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 500, .packet = 500}.frames()[0],
                                             wire::kMaxNetHeader));
        rig.poll_until(sending.sent);
    }
    rig.settle();
    rig.end();
    const std::size_t whole = rig.take().size();
    EXPECT_EQ(rig.lane->counters.heaps_device_error, kHeaps - whole);
    EXPECT_GT(rig.lane->counters.heaps_device_error, 0U);
    EXPECT_TRUE(sending.full());
}

}  // namespace
}  // namespace spead::recv::test
