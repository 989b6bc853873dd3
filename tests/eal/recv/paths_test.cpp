// SPDX-License-Identifier: BSD-3-Clause
/// Tests an agent whose stream comes by two paths, one source each, and a network that repeats packets.
#include "stats/paths.hpp"

#include <array>
#include <gmock/gmock.h>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "stats/since.hpp"
#include "tests/eal/recv/rig.hpp"

namespace spead::recv::test {
namespace {

constexpr std::uint32_t kSecond = Way{}.to + 1;  ///< the group of the second path
constexpr std::uint64_t kPart = 64;

class RecvPaths : public ::testing::Test {
  protected:
    RecvPaths() {
        rig.add_source();
        rig.add_source();
        LaneConfig config = lane_config("s0", {{{Way{}.to}, Way{}.port, {}}, {{kSecond}, Way{}.port, {}}});
        config.window.redundant = true;
        config.window.max_live = 64;
        config.window.history = 16384;
        config.queue_heaps = 1024;
        rig.add_lane(0, config);
        rig.sources[1]->classifier.add(config.endpoints[1], {0, 1});
        rig.sources[1]->flows = FlowCache(2);
        rig.sources[1]->lanes.push_back(0);
        rig.lane().merge({0, 1}, kBehind);
    }

    static Bytes packet(std::size_t path, std::uint64_t heap, std::uint64_t part, std::uint64_t parts) {
        wire::test::Packet p;
        p.payload.assign(kPart, static_cast<std::uint8_t>(heap + part));
        Way way;
        way.to = path == 0 ? way.to : kSecond;
        return frame(p.specials(heap, parts * kPart, part * kPart).build(), way);
    }
    void give(std::size_t path, std::uint64_t heap, std::uint64_t part = 0, std::uint64_t parts = 1) {
        rig.queue(path).add(packet(path, heap, part, parts));
        while (rig.poll())
            rig.take();
    }
    stats::StreamSnapshot counts() {
        stats::StreamSnapshot s;
        s.path_ports = {"p0", "p1"};
        s.add(rig.lane().counts(), 0);
        return s;
    }
    /// Checks what must hold for any counts of a stream that refuses nothing.
    void expect_exact(const stats::StreamSnapshot& s) {
        for (const stats::PathCounters& path : s.paths)
            EXPECT_EQ(path.packets, path.placed + path.redundant + path.repeated + path.late + path.control);
        EXPECT_EQ(s.paths[0].redundant + s.paths[1].redundant,
                  s.packets[static_cast<std::size_t>(PacketOutcome::redundant)]);
        EXPECT_EQ(s.paths[0].repeated + s.paths[1].repeated,
                  s.packets[static_cast<std::size_t>(PacketOutcome::duplicate)]);
    }

    static constexpr std::uint64_t kBehind = 10'000'000;
    Rig rig;
};

TEST_F(RecvPaths, APacketThatOnePathBringsTwiceIsRepeated) {
    give(0, 1);
    give(0, 1);
    give(1, 1);
    give(1, 1);
    for (const std::uint64_t part : {0, 0, 1, 1, 2, 2})
        give(1, 2, part, 3);
    for (const std::uint64_t part : {0, 1, 2})
        give(0, 2, part, 3);
    const stats::StreamSnapshot s = counts();
    expect_exact(s);
    EXPECT_EQ(s.paths[0].placed, 1U);
    EXPECT_EQ(s.paths[0].repeated, 1U);
    EXPECT_EQ(s.paths[0].redundant, 3U);
    EXPECT_EQ(s.paths[1].placed, 3U);
    EXPECT_EQ(s.paths[1].repeated, 4U);
    EXPECT_EQ(s.paths[1].redundant, 1U);
    EXPECT_EQ(stats::missing_packets(s, 0) + stats::missing_packets(s, 1), 0U);
}

/// Loses, delays and repeats packets on both paths, and knows what each count has to be.
TEST_F(RecvPaths, EveryCountIsExactWithLossSkewAndRepeats) {
    for (const bool whole : {false, true}) {
        std::mt19937_64 random(whole ? 1 : 2);
        const stats::StreamSnapshot before = counts();
        const std::uint64_t parts = whole ? 1 : 4;
        const std::uint64_t from = whole ? 100'000 : 0;
        std::multimap<std::uint64_t, std::array<std::uint64_t, 3>> all;  // by time: path, heap, part
        std::array<std::uint64_t, 2> lost{}, repeated{}, brought{};
        for (std::uint64_t n = 0; n < 8000; n++) {
            const std::array<bool, 2> loses{random() % 20 == 0, random() % 20 == 0};
            for (std::size_t path = 0; path < 2; path++) {
                if (loses[path]) {
                    lost[path] += !loses[1 - path];
                    continue;
                }
                brought[path]++;
                const std::uint64_t at = 4 * n + (path == 1 ? 400 : 0) + random() % 16;
                all.insert({at, {path, from + n / parts, n % parts}});
                if (random() % 10 == 0) {
                    repeated[path]++;
                    all.insert({at + 1 + random() % 400, {path, from + n / parts, n % parts}});
                }
            }
        }
        std::uint64_t last = 0;
        for (const auto& [at, p] : all) {
            // Both queues are polled by turns: the order between them must hold.
            rig.queue(p[0]).add(packet(p[0], p[1], p[2], parts));
            while (rig.poll()) {
            }
            if (at / 1000 != last) {
                last = at / 1000;
                rig.take();
                rig.agent.housekeep(rig.now);
            }
        }
        rig.take();
        const stats::StreamSnapshot s = counts();
        expect_exact(s);
        for (std::size_t path = 0; path < 2; path++) {
            EXPECT_EQ(s.paths[path].packets - before.paths[path].packets, brought[path] + repeated[path]);
            EXPECT_EQ(s.paths[path].repeated - before.paths[path].repeated, repeated[path]) << path;
            EXPECT_EQ(s.paths[path].late, 0U);
            EXPECT_EQ(stats::missing_packets(s, path) - stats::missing_packets(before, path), lost[path]);
        }
    }
}

TEST_F(RecvPaths, TheSurvivorIsNotNotedAndItsRepeatsAreKnownAllTheSame) {
    for (std::uint64_t heap = 1; heap <= 10; heap++) {
        give(0, heap);
        give(1, heap);
    }
    rig.agent.housekeep(rig.now);
    for (std::uint64_t heap = 11; heap <= 12 + PathRecord::kBusy; heap++)
        give(0, heap);
    EXPECT_TRUE(rig.lane().diverts);
    rig.now += 5 * kBehind;
    rig.agent.housekeep(rig.now);
    EXPECT_FALSE(rig.lane().diverts) << "the usual packet of the survivor goes the way of one path";
    give(0, 5000);
    give(0, 5000);
    EXPECT_EQ(counts().paths[0].repeated, 1U);
    give(0, 1000);
    EXPECT_EQ(counts().paths[0].redundant, 1U) << "a sender that begins anew";
    EXPECT_FALSE(rig.lane().diverts);

    // The other path is back, and leads.
    give(1, 6000);
    give(0, 6000);
    EXPECT_TRUE(rig.lane().diverts);
    EXPECT_EQ(counts().paths[0].repeated, 1U);
    EXPECT_EQ(counts().paths[0].redundant, 2U);
    give(0, 6001);
    give(1, 6001);
    give(1, 6001);
    EXPECT_EQ(counts().paths[1].repeated, 1U);
    expect_exact(counts());
}

TEST_F(RecvPaths, CountsThatBeginAnewAreNoRepeats) {
    for (int life = 0; life < 2; life++) {
        for (std::uint64_t heap = 1; heap <= 100; heap++) {
            give(0, heap);
            give(1, heap);
        }
        EXPECT_EQ(counts().paths[0].repeated + counts().paths[1].repeated, 0U);
        if (life == 0)
            rig.now += 2'000'000'000;  // the window has forgotten them
    }
    EXPECT_EQ(counts().paths[0].placed, 200U);
    EXPECT_EQ(counts().paths[0].forgotten + counts().paths[1].forgotten, 0U);
    for (int life = 0; life < 2; life++) {
        rig.now += 2 * kBehind;  // it has not
        for (std::uint64_t heap = 1; heap <= 100; heap++)
            give(0, heap);
    }
    EXPECT_EQ(counts().paths[0].repeated, 0U);
    EXPECT_EQ(stats::renewed_packets(counts()), 200U);
}

/// Lets the first path lose a packet of each heap, while the second one is so many heaps behind.
TEST_F(RecvPaths, APathMayBeBehindByAsManyHeapsAsMayBeOpen) {
    constexpr std::uint64_t kHeaps = 200;
    const std::uint32_t most = rig.lane().config.window.max_live - 1;
    std::uint64_t from = 0;
    for (const std::uint64_t behind : {std::uint64_t{most}, std::uint64_t{most} + 1}) {
        const stats::StreamSnapshot before = counts();
        for (std::uint64_t heap = from; heap < from + kHeaps + behind; heap++) {
            for (const std::uint64_t part : {0, 1, 3})
                if (heap < from + kHeaps)
                    give(0, heap, part, 4);
            for (const std::uint64_t part : {0, 1, 2, 3})
                if (heap >= from + behind)
                    give(1, heap - behind, part, 4);
        }
        from += kHeaps;
        const stats::StreamSnapshot s = counts();
        expect_exact(s);
        // The last heaps have no newer ones that could evict them.
        const std::uint64_t late = behind > most ? kHeaps - behind : 0;
        EXPECT_EQ(s.paths[0].placed - before.paths[0].placed, 3 * kHeaps) << behind;
        EXPECT_EQ(s.paths[1].late - before.paths[1].late, 4 * late) << behind;
        EXPECT_EQ(s.paths[1].placed - before.paths[1].placed, kHeaps - late) << behind;
        EXPECT_EQ(s.paths[1].redundant - before.paths[1].redundant, 3 * (kHeaps - late)) << behind;
        EXPECT_EQ(s.paths[0].repeated + s.paths[1].repeated, 0U);
    }
}

TEST_F(RecvPaths, ACopyIsRedundantJustUnderAndJustAboveTheSkew) {
    std::uint64_t heap = 1;
    for (const std::uint64_t delay : {kBehind - kBehind / 16, kBehind + kBehind / 16}) {
        const stats::StreamSnapshot before = counts();
        give(0, heap);
        rig.now += delay;
        give(1, heap);
        give(0, heap + 1);
        rig.now += delay;
        give(0, heap + 1);
        heap += 2;
        const stats::StreamSnapshot s = counts();
        expect_exact(s);
        EXPECT_EQ(s.paths[1].redundant - before.paths[1].redundant, 1U) << delay;
        EXPECT_EQ(s.paths[0].repeated - before.paths[0].repeated, delay < kBehind ? 1U : 0U) << delay;
        EXPECT_EQ(s.paths[0].redundant - before.paths[0].redundant, delay < kBehind ? 0U : 1U) << delay;
    }
}

TEST_F(RecvPaths, AHeapOfOnePacketIsKnownForAsLongAsTheHistorySays) {
    const std::uint64_t history = rig.lane().config.window.history_ticks;
    give(0, 1);
    rig.now += history - 100'000;
    give(1, 1);
    give(0, 2);
    rig.now += history + 100'000;
    give(1, 2);
    const stats::StreamSnapshot s = counts();
    EXPECT_EQ(s.paths[1].redundant, 1U);
    EXPECT_EQ(s.paths[1].placed, 1U) << "it is delivered again";
    EXPECT_EQ(s.paths[1].forgotten, 1U);
    EXPECT_GE(s.paths[1].forgotten_after, history + 100'000);
    EXPECT_LE(s.paths[1].forgotten_after, history + 110'000);
    expect_exact(s);
}

TEST_F(RecvPaths, TheLongestDelayCountsFromTheLastClearing) {
    const std::uint64_t history = rig.lane().config.window.history_ticks;
    std::uint64_t heap = 1;
    for (const std::uint64_t more : {1'000'000, 100'000}) {
        give(0, heap);
        rig.now += history + more;
        give(1, heap++);
        const stats::StreamSnapshot s = counts();
        EXPECT_GE(s.paths[1].forgotten_after, history + more);
        EXPECT_LE(s.paths[1].forgotten_after, history + more + 10'000);
        rig.lane().forget_peaks();
    }
    EXPECT_EQ(counts().paths[1].forgotten_after, 0U);
    EXPECT_EQ(counts().paths[1].forgotten, 2U) << "counts stay";
}

/// Lets the second path be behind by more than the history's time, or by more heaps than it remembers.
TEST_F(RecvPaths, CopiesThatComeTooLateAreCountedAsThose) {
    const std::uint64_t history = rig.lane().config.window.history_ticks;
    constexpr std::uint64_t kHeaps = 20;
    constexpr std::uint64_t kParts = 3;
    for (std::uint64_t heap = 0; heap < kHeaps; heap++)
        for (std::uint64_t part = 0; part < kParts; part++)
            give(0, heap, part, kParts);
    rig.now += history + 100'000;
    for (std::uint64_t heap = 0; heap < kHeaps; heap++) {
        for (std::uint64_t part = 0; part < kParts; part++)
            give(0, kHeaps + heap, part, kParts);
        for (std::uint64_t part = 0; part < kParts; part++)
            give(1, heap, part, kParts);
    }
    stats::StreamSnapshot s = counts();
    expect_exact(s);
    EXPECT_EQ(s.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 3 * kHeaps);
    EXPECT_EQ(s.paths[1].placed, kHeaps * kParts);
    EXPECT_EQ(s.paths[1].forgotten, kHeaps * kParts);
    EXPECT_EQ(s.paths[0].forgotten, 0U);
    EXPECT_EQ(stats::missing_packets(s, 0), 0U) << "it had brought them";
    EXPECT_EQ(stats::missing_packets(s, 1), 2 * kHeaps * kParts);
    EXPECT_EQ(stats::lost_packets(s, 0), 0U);

    const std::uint64_t before = s.paths[1].forgotten;
    for (std::uint64_t heap = 100'000; heap < 100'000 + 16384 + 10; heap++)
        give(0, heap);
    for (std::uint64_t heap = 100'000; heap < 100'000 + 20; heap++)
        give(1, heap);
    s = counts();
    expect_exact(s);
    // The sample may have become one in a few.
    EXPECT_GT(s.paths[1].placed, kHeaps * kParts);
    EXPECT_GE(s.paths[1].forgotten, before);
}

TEST_F(RecvPaths, StopItemsThatComeAgainAreNoLateCopies) {
    const auto stop = [this](std::size_t path) {
        wire::test::Packet p;
        Way way;
        way.to = path == 0 ? way.to : kSecond;
        p.specials(7, 0, 0).immediate(wire::item::kStreamCtrl, wire::stream_ctrl::kStop);
        rig.queue(path).add(frame(p.build(), way));
        while (rig.poll())
            rig.take();
    };
    stop(0);
    stop(1);
    rig.now += 2 * rig.lane().config.window.history_ticks;
    stop(1);
    stop(0);
    const stats::StreamSnapshot s = counts();
    EXPECT_EQ(s.paths[0].forgotten, 0U);
    EXPECT_EQ(s.paths[1].forgotten, 0U) << "it has brought the first stop item, too";
    expect_exact(s);
}

TEST_F(RecvPaths, CountsThatBeginAnewAreNoLateCopiesWhicheverPathLosesSome) {
    std::mt19937_64 random(3);
    for (int life = 0; life < 4; life++) {
        for (std::uint64_t heap = 1; heap <= 100; heap++) {
            const std::size_t first = random() % 2;
            const bool loses = random() % 5 == 0;
            if (!loses || life % 2 != 0)
                give(first, heap);
            give(1 - first, heap);
        }
        rig.now += 2'000'000'000;  // the window has forgotten them
    }
    EXPECT_EQ(counts().paths[0].forgotten + counts().paths[1].forgotten, 0U);
    expect_exact(counts());
}

TEST_F(RecvPaths, PacketsOnTheirWayAreMissingAndNotLost) {
    for (std::uint64_t heap = 1; heap <= 50; heap++) {
        give(0, heap);
        if (heap >= 20 && heap != 31)
            give(1, heap - 10);
        if (heap == 20)
            rig.now += 2 * kBehind;  // it is no beginner any more
    }
    const stats::StreamSnapshot s = counts();
    EXPECT_EQ(stats::missing_packets(s, 1), 9U + 1U + 10U);
    EXPECT_EQ(stats::lost_packets(s, 1), 1U)
        << "those before its first and after its last may have other reasons";
    EXPECT_EQ(stats::lost_packets(s, 0), 0U);
}

/// Clears the counts while copies are on their way, at any time of a path's life.
TEST_F(RecvPaths, CopiesOfPacketsFromBeforeTheCountsBeganAreNoRenewal) {
    constexpr std::uint64_t kBatch = 10;
    stats::Snapshot base, now;
    base.streams.resize(1);
    now.streams.resize(1);
    for (std::uint64_t from = 0; from < 300; from += kBatch) {
        for (std::uint64_t heap = from; heap < from + kBatch; heap++)
            give(0, heap);
        base.streams[0] = counts();
        // Some are lost, and others overtake each other.
        for (std::uint64_t heap = from + kBatch; heap-- > from;)
            if (heap % 5 != 0)
                give(1, heap);
        now.streams[0] = counts();
        EXPECT_EQ(now.streams[0].paths[1].redundant - base.streams[0].paths[1].redundant, 8U);
        EXPECT_EQ(stats::renewed_packets(stats::since(now, base).streams[0]), 0U) << from;
        rig.now += kBehind / 2;
        rig.agent.housekeep(rig.now);
    }
    expect_exact(counts());
    base.streams[0] = counts();
    EXPECT_EQ(base.streams[0].paths[0].awaited, 0U);
    EXPECT_LE(base.streams[0].paths[1].awaited, 3 * kBatch) << "and not all that the path has lost";
    for (int look = 0; look < 3; look++) {
        rig.now += 2 * kBehind;
        rig.agent.housekeep(rig.now);
    }
    base.streams[0] = counts();
    EXPECT_EQ(base.streams[0].paths[1].awaited, 0U) << "they are lost by now";
    for (std::uint64_t heap = 290; heap < 300; heap++)
        give(0, heap);
    now.streams[0] = counts();
    EXPECT_EQ(stats::renewed_packets(stats::since(now, base).streams[0]), 10U);
}

}  // namespace
}  // namespace spead::recv::test
