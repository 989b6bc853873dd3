// SPDX-License-Identifier: BSD-3-Clause
#include "stats/since.hpp"

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

constexpr auto kPlaced = static_cast<std::size_t>(PacketOutcome::placed);
constexpr auto kControl = static_cast<std::size_t>(PacketOutcome::control);
constexpr auto kInconsistent = static_cast<std::size_t>(PacketOutcome::inconsistent);

/// Returns a snapshot of a stream whose heaps are in every state: 3 live, 2 queued of which 1 waits, `done`
/// delivered.
Snapshot run(std::uint64_t done) {
    Snapshot s;
    s.duration_s = static_cast<double>(done);
    StreamCounters c;
    c[PacketOutcome::placed] = 10 * done;
    c[PacketOutcome::late] = done;
    c.bytes = 100 * done;
    c.heaps_live = 3;
    c.heaps_ended = {done + 1, 1, 0, 0};
    c.heaps_started = done + 5;
    c.heaps_pushed = done + 1;
    c.heaps_waiting = 1;
    c.held_now = c.lent_now = c.rotating_bytes = c.streaming_now = 6;
    c.hold_refused = 2 * done;
    c.lend_full = 3 * done;
    StreamSnapshot& stream = s.streams.emplace_back();
    stream.name = "s0";
    stream.add(c, done - done / 4, done / 4);
    stream.events[1] = done;
    stream.by_endpoint = {{"a", 11 * done, 100 * done}};
    stream.latency.count = stream.heaps_handed_over;
    PortSnapshot& port = s.ports.emplace_back();
    port.name = "p0";
    RxCounters queue;
    queue[PortOutcome::stream] = 11 * done;
    queue[PortOutcome::arp] = 2 * done;
    queue.bursts = done;
    queue.burst_sizes[1] = done;
    queue.reassembly = {done, 2 * done, done, 0, 0, 5};
    port.add(queue);
    port.nic = {done, 2 * done, 3 * done};
    SendSnapshot& send = s.sends.emplace_back();
    send.name = "d0";
    send.counters.packets = send.counters.copied_packets = 7 * done;
    send.counters.timed_out = done;
    port.tx_packets = 7 * done;
    LcoreSnapshot& lcore = s.lcores.emplace_back();
    lcore.lcore = 1;
    lcore.streams = {{"s0", 11 * done}};
    lcore.ports = {{"p0", 13 * done}};
    lcore.add(queue);
    lcore.counters.cycles = 10 * done;
    lcore.counters.busy_cycles = 4 * done;
    lcore.counters.idle_cycles = 6 * done;
    return s;
}

TEST(Since, IsTheDifferenceAndKeepsEveryIdentity) {
    const Snapshot base = run(100);
    const Snapshot now = run(140);
    ASSERT_EQ(broken_identities(base), std::vector<std::string>{});
    const Snapshot d = since(now, base);
    EXPECT_EQ(broken_identities(d), std::vector<std::string>{});
    EXPECT_DOUBLE_EQ(d.duration_s, 40);
    EXPECT_DOUBLE_EQ(d.cleared_s, 100);
    EXPECT_EQ(d.streams[0].received, 440U);
    EXPECT_EQ(d.streams[0].packets[kPlaced], 400U);
    EXPECT_EQ(d.streams[0].bytes, 4000U);
    EXPECT_EQ(d.streams[0].heaps_started, 40U);
    EXPECT_EQ(d.streams[0].heaps_live, 3U);
    EXPECT_EQ(d.streams[0].carried.live, 3U);
    EXPECT_EQ(d.streams[0].carried.queued, 2U);
    EXPECT_EQ(d.streams[0].carried.waiting, 1U);
    EXPECT_EQ(d.streams[0].heaps_delivered, 30U);
    EXPECT_EQ(d.streams[0].heaps_unwritten, 10U);
    EXPECT_EQ(d.streams[0].held_now, 6U);
    EXPECT_EQ(d.streams[0].hold_refused, 80U);
    EXPECT_EQ(d.streams[0].lent_now, 6U);
    EXPECT_EQ(d.streams[0].rotating_bytes, 6U);
    EXPECT_EQ(d.streams[0].streaming_now, 6U);
    EXPECT_EQ(d.streams[0].lend_full, 120U);
    EXPECT_EQ(d.streams[0].events[1], 40U);
    EXPECT_EQ(d.streams[0].by_endpoint[0].packets, 440U);
    EXPECT_TRUE(d.streams[0].by_endpoint[0].not_new);
    EXPECT_EQ(d.ports[0].rx_packets, 520U);
    EXPECT_EQ(d.ports[0].rx_bursts, 40U);
    EXPECT_EQ(d.ports[0].nic.no_mbuf, 80U);
    EXPECT_EQ(d.sends[0].counters.packets, 280U);
    EXPECT_EQ(d.sends[0].counters.timed_out, 40U);
    EXPECT_EQ(d.lcores[0].streams[0].received, 440U);
    EXPECT_EQ(d.lcores[0].counters.busy_cycles, 160U);
}

TEST(Since, ChunksThatWereOpenOrWaitedAreCarried) {
    Snapshot base = run(100);
    ChunkCounts& before = base.streams[0].chunks;
    before.opened = 10;
    before.handed_over = 8;
    before.taken = 5;
    Snapshot now = run(100);
    ChunkCounts& after = now.streams[0].chunks;
    after.opened = after.handed_over = after.taken = 11;
    ASSERT_EQ(broken_identities(base), std::vector<std::string>{});
    const Snapshot d = since(now, base);
    EXPECT_EQ(broken_identities(d), std::vector<std::string>{});
    EXPECT_EQ(d.streams[0].chunks.opened, 1U);
    EXPECT_EQ(d.streams[0].chunks.handed_over, 3U);
    EXPECT_EQ(d.streams[0].chunks.taken, 6U);
    EXPECT_EQ(d.streams[0].chunks.carried_open, 2U);
    EXPECT_EQ(d.streams[0].chunks.carried_waiting, 3U);
}

TEST(Since, DestinationsThatOnlyCameBeforeAreNotStraysAnyMore) {
    Snapshot base = run(4);
    base.ports[0].strays = {{"239.1.2.3:1", "10.0.0.1", 50}, {"239.1.2.4:1", "10.0.0.1", 40}};
    Snapshot now = run(9);
    now.ports[0].strays = {
        {"239.1.2.3:1", "10.0.0.1", 55}, {"239.1.2.4:1", "10.0.0.1", 40}, {"239.1.2.5:1", "10.0.0.1", 7}};
    const std::vector<PassedSnapshot> left = since(now, base).ports[0].strays;
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(left[0].endpoint, "239.1.2.5:1");
    EXPECT_EQ(left[1].packets, 5U);
}

TEST(Since, TheLongestHeaderIsThatOfPacketsSinceThen) {
    constexpr auto kCut = static_cast<std::size_t>(PacketOutcome::header_in_device);
    Snapshot base = run(4);
    base.streams[0].longest_header = 562;
    base.streams[0].packets[kCut] = 3;
    Snapshot now = base;
    EXPECT_EQ(since(now, base).streams[0].longest_header, 0U);
    now.streams[0].packets[kCut] = 4;
    EXPECT_EQ(since(now, base).streams[0].longest_header, 562U);
}

TEST(Since, WhatTheBaseDoesNotHaveStaysAsItIs) {
    Snapshot base = run(100);
    base.streams.clear();
    base.ports[0].name = "gone";
    base.sends.clear();
    base.lcores.clear();
    const Snapshot d = since(run(140), base);
    EXPECT_EQ(d.streams[0].received, 1540U);
    EXPECT_EQ(d.ports[0].rx_packets, 1820U);
    EXPECT_EQ(d.sends[0].counters.packets, 980U);
    EXPECT_EQ(d.lcores[0].bursts, 140U);
    EXPECT_EQ(broken_identities(d), std::vector<std::string>{});
}

/// Tests a new stream that has counted less than the former one, and one that has counted more.
TEST(Since, AStreamThatBeganAnewUnderItsNameIsToldWhole) {
    for (const std::uint64_t anew : {40U, 140U}) {
        SCOPED_TRACE(anew);
        const Snapshot base = run(100);
        Snapshot now = run(anew);
        now.streams[0].number = now.lcores[0].streams[0].number = 2;
        // The former one received as much again before it went.
        const Snapshot gone = run(200);
        now.removed.add(gone.streams[0]);
        now.ports[0].rx[static_cast<std::size_t>(PortOutcome::stream)] += 2200;
        now.ports[0].rx_packets += 2200;
        now.lcores[0].removed += 2200;
        now.lcores[0].ports[0].received += 2200;
        ASSERT_EQ(broken_identities(now), std::vector<std::string>{});
        const Snapshot d = since(now, base);
        EXPECT_EQ(d.streams[0].received, 11 * anew);
        EXPECT_EQ(d.streams[0].carried.live, 0U);
        EXPECT_EQ(d.lcores[0].streams[0].received, 11 * anew);
        EXPECT_EQ(d.removed.received, 1100U);
        EXPECT_EQ(d.lcores[0].removed, 1100U);
        EXPECT_EQ(d.removed.carried.live, 3U);
    }
}

/// Tests a control heap. Its first packet was counted as placed before; the last one came after, and showed
/// that it is control.
/// Both streams show the chunks of their group. The first reports what they lack until it is removed.
TEST(Since, TheLossesOfAGroupPassToTheNextStreamWithoutBeingNew) {
    Snapshot base;
    for (const char* const name : {"s0", "s1"}) {
        StreamSnapshot& s = base.streams.emplace_back();
        s.name = name;
        s.chunks.missing_bytes = 1000;
        s.chunks.missing_packets = 10;
    }
    base.streams[0].missing_bytes = 1000;
    base.streams[0].missing_packets = 10;
    base.streams[1].chunks_counted_with = "s0";
    Snapshot now = base;
    now.streams.erase(now.streams.begin());
    StreamSnapshot& left = now.streams[0];
    left.chunks_counted_with.clear();
    left.missing_bytes = left.chunks.missing_bytes = 1100;
    left.missing_packets = left.chunks.missing_packets = 11;
    const Snapshot fresh = since(now, base);
    EXPECT_EQ(fresh.streams[0].missing_bytes, 100U);
    EXPECT_EQ(fresh.streams[0].missing_packets, 1U);
    EXPECT_EQ(fresh.removed.missing_bytes, 0U);
    EXPECT_EQ(fresh.removed.missing_packets, 0U);
}

TEST(Since, AHeapThatTurnedOutToBeControlDoesNotGoBelowZero) {
    const Snapshot base = run(100);
    Snapshot now = run(100);
    StreamSnapshot& s = now.streams[0];
    s.packets[kPlaced] -= 1;
    s.packets[kControl] += 2;
    s.received += 1;
    s.heaps_started -= 1;
    s.heaps_live -= 1;
    s.bytes -= 8;
    s.control_bytes += 16;
    s.by_endpoint[0].packets += 1;
    s.by_endpoint[0].bytes += 8;
    now.ports[0].rx[0] += 1;
    now.ports[0].rx_packets += 1;
    now.lcores[0].streams[0].received += 1;
    now.lcores[0].ports[0].received += 1;
    ASSERT_EQ(broken_identities(now), std::vector<std::string>{});
    const Snapshot d = since(now, base);
    EXPECT_EQ(broken_identities(d), std::vector<std::string>{});
    EXPECT_EQ(d.streams[0].packets[kPlaced], 0U);
    EXPECT_EQ(d.streams[0].packets[kControl], 1U);
    EXPECT_EQ(d.streams[0].heaps_started, 0U);
    EXPECT_EQ(d.streams[0].carried.live, 2U);
    EXPECT_EQ(d.streams[0].bytes, 0U);
    EXPECT_EQ(d.streams[0].control_bytes, 8U);
}

/// Tests two packets of a heap that were counted as placed before. Then another claim to its count turned out
/// to be the heap, and a packet contradicted that.
TEST(Since, AClaimThatTurnedOutToBeNoHeapDoesNotGoBelowZero) {
    const Snapshot base = run(100);
    Snapshot now = run(100);
    StreamSnapshot& s = now.streams[0];
    s.packets[kPlaced] -= 2;
    s.packets[kInconsistent] += 3;
    s.received += 1;
    s.heaps_started -= 1;
    s.heaps_live -= 1;
    s.by_endpoint[0].packets += 1;
    now.ports[0].rx[0] += 1;
    now.ports[0].rx_packets += 1;
    now.lcores[0].streams[0].received += 1;
    now.lcores[0].ports[0].received += 1;
    ASSERT_EQ(broken_identities(now), std::vector<std::string>{});
    const Snapshot d = since(now, base);
    EXPECT_EQ(broken_identities(d), std::vector<std::string>{});
    EXPECT_EQ(d.streams[0].packets[kPlaced], 0U);
    EXPECT_EQ(d.streams[0].packets[kControl], 0U);
    EXPECT_EQ(d.streams[0].packets[kInconsistent], 1U);
    EXPECT_EQ(d.streams[0].heaps_started, 0U);
    EXPECT_EQ(d.streams[0].carried.live, 2U);
}

/// Tests an engine that stood still when the counters were cleared, and for a while after that.
TEST(Since, AStallThatGoesOnCounts) {
    Snapshot base = run(100);
    base.engines.push_back({.name = "cuda", .streams = {}, .stalled_s = 5, .stalls = 2, .all_stalled_s = 7});
    Snapshot now = run(100);
    now.engines.push_back({.name = "cuda", .streams = {}, .stalls = 2, .all_stalled_s = 62});
    const Snapshot d = since(now, base);
    ASSERT_EQ(d.engines.size(), 1U);
    EXPECT_EQ(d.engines[0].stalls, 1U);
    EXPECT_EQ(d.engines[0].all_stalled_s, 55);
}

}  // namespace
}  // namespace spead::stats
