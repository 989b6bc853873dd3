// SPDX-License-Identifier: BSD-3-Clause
#include "stats/snapshot.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

/// Returns one lcore's block in which every identity holds: 10 packets, 5 heaps started, 1 live, 4 ended.
StreamCounters block() {
    StreamCounters b;
    b[PacketOutcome::placed] = 7;
    b[PacketOutcome::duplicate] = 2;
    b[PacketOutcome::malformed] = 1;
    b.bytes = 7000;
    b.heaps_started = 5;
    b.heaps_live = 1;
    b.heaps_ended = {2, 1, 1, 0};
    b.heaps_pushed = 2;
    b.heaps_dropped_full = 1;
    b.heaps_waiting = 1;
    b.packets_reordered = 3;
    b.heaps_interleaved_evictions = 1;
    b.stop_items = 1;
    return b;
}

Snapshot sound() {
    Snapshot snapshot;
    StreamSnapshot stream;
    stream.name = "s0";
    stream.add(block(), 1);
    PortSnapshot port;
    port.name = "p0";
    RxCounters queue;
    queue[PortOutcome::stream] = 10;
    queue[PortOutcome::arp] = 3;
    queue.bytes = 9000;
    queue.bursts = 6;
    queue.full_bursts = 1;
    queue.burst_sizes = {2, 3, 0, 0, 0, 0, 1};
    port.add(queue);
    port.tx_packets = 5;
    port.talkers = {{"10.0.0.1", "s0", 9, 0}};
    port.talkers_others = 1;
    port.talkers_unattributed = 3;
    LcoreSnapshot lcore;
    lcore.lcore = 4;
    lcore.streams = {{"s0", 10}};
    lcore.ports = {{"p0", 13}};
    lcore.add(queue);
    lcore.counters.loop(70, true, 0, 1000);
    lcore.counters.loop(50, false, 50, 1000);
    stream.by_endpoint = {{"a", 8, 6500}, {"b", 2, 500}};
    stream.latency.count = 2;
    stream.latency.buckets = {{0.5, 1}, {1, 1}};
    snapshot.detailed = true;
    snapshot.lcores.push_back(lcore);
    SendSnapshot send;
    send.name = "d0";
    send.counters.packets = 5;
    send.counters.zero_copy_packets = 3;
    send.counters.copied_packets = 2;
    snapshot.streams.push_back(stream);
    snapshot.ports.push_back(port);
    snapshot.sends.push_back(send);
    return snapshot;
}

TEST(StreamSnapshot, AddsTheBlocksOfSeveralLcores) {
    StreamSnapshot stream;
    stream.add(block(), 1);
    stream.add(block(), 1, 1);
    EXPECT_EQ(stream.received, 20u);
    EXPECT_EQ(stream.packets[static_cast<std::size_t>(PacketOutcome::placed)], 14u);
    EXPECT_EQ(stream.bytes, 14000u);
    EXPECT_EQ(stream.heaps_started, 10u);
    EXPECT_EQ(stream.heaps_live, 2u);
    EXPECT_EQ(stream.heaps_delivered, 2u);
    EXPECT_EQ(stream.heaps_unwritten, 1u);
    EXPECT_EQ(stream.heaps_dropped_full, 2u);
    EXPECT_EQ(stream.heaps_queued, 3u);  // (2-1) + (2-2) in the queues, 1 + 1 waiting
    EXPECT_EQ(stream.packets_reordered, 6u);
    EXPECT_EQ(stream.heaps_interleaved_evictions, 2u);
    EXPECT_EQ(stream.stop_items, 2u);
}

std::vector<std::uint64_t> values(const ReassemblyCounts& c) {
    return {c.datagrams, c.given_up, c.too_many, c.conflicting, c.crowded_out, c.held_now};
}

TEST(PortSnapshot, AddsTheQueuesOfAPort) {
    RxCounters queue;
    queue[PortOutcome::stream] = 10;
    queue[PortOutcome::fragment] = 2;
    queue.bytes = 100;
    queue.vlan_tagged = 4;
    queue.multi_segment = 5;
    queue.oversized_frames = 6;
    queue.hosts_full = 7;
    queue.gather_full = 8;
    queue.reassembly = {9, 10, 11, 12, 13, 14};
    PortSnapshot port;
    port.add(queue);
    port.add(queue);
    EXPECT_EQ(port.rx_packets, 24u);
    EXPECT_EQ(port.rx_bytes, 200u);
    EXPECT_EQ(port.rx[static_cast<std::size_t>(PortOutcome::fragment)], 4u);
    EXPECT_EQ(port.rx_vlan_tagged, 8u);
    EXPECT_EQ(port.rx_multi_segment, 10u);
    EXPECT_EQ(port.rx_oversized_frames, 12u);
    EXPECT_EQ(port.rx_hosts_full, 14u);
    EXPECT_EQ(port.rx_gather_full, 16u);
    EXPECT_EQ(values(port.reassembly), (std::vector<std::uint64_t>{18, 20, 22, 24, 26, 28}));
}

TEST(ReassemblyCounts, TakeAllButWhatIsHeldNow) {
    ReassemblyCounts counts{18, 20, 22, 24, 26, 28};
    counts.take({9, 10, 11, 12, 13, 14});
    EXPECT_EQ(values(counts), (std::vector<std::uint64_t>{9, 10, 11, 12, 13, 28}));
}

TEST(ActiveTime, IsFromTheFirstToTheLastOfAll) {
    ActiveTime one;
    EXPECT_EQ(one.ticks(), 0U);
    one.seen(100);
    one.seen(300);
    ActiveTime all;
    all.add({});
    all.add(one);
    all.add({50, 200});
    all.add({});
    EXPECT_EQ(all, (ActiveTime{50, 300}));
    ActiveTime later{100, 500};
    later.take({100, 300});
    EXPECT_EQ(later, (ActiveTime{300, 500})) << "goes on";
    later = {400, 500};
    later.take({100, 300});
    EXPECT_EQ(later, (ActiveTime{400, 500})) << "its lcore began anew";
    later = {100, 300};
    later.take({100, 300});
    EXPECT_EQ(later, ActiveTime{}) << "nothing came since";
}

TEST(Identities, HoldInASoundSnapshot) {
    EXPECT_EQ(broken_identities(sound()), std::vector<std::string>{});
    EXPECT_EQ(broken_identities(Snapshot{}), std::vector<std::string>{});
}

/// Breaks one number of a sound snapshot; exactly one identity must be named, with the place and both
/// numbers.
template <typename Break>
void expect_broken(Break change, const std::string& sentence) {
    Snapshot snapshot = sound();
    change(snapshot);
    const auto broken = broken_identities(snapshot);
    ASSERT_EQ(broken.size(), 1u) << sentence;
    EXPECT_EQ(broken[0], sentence);
}

TEST(Identities, EachOneIsNoticedWhenItBreaks) {
    expect_broken(
        [](Snapshot& s) {
            s.ports[0].rx_packets++;
            s.ports[0].talkers_unattributed++;
            s.lcores[0].ports[0].received++;
        },
        "p0: rx packets = sum of outcomes: 14 is not 13");
    expect_broken([](Snapshot& s) { s.lcores[0].ports[0].received++; },
                  "p0: rx packets = sum of lcores: 13 is not 14");
    expect_broken([](Snapshot& s) { s.streams[0].packets[0]++; },
                  "s0: received = sum of outcomes: 10 is not 11");
    expect_broken([](Snapshot& s) { s.streams[0].heaps_live++; }, "s0: started = ended + live: 5 is not 6");
    expect_broken([](Snapshot& s) { s.streams[0].heaps_queued++; },
                  "s0: ended = delivered + unwritten + dropped_full + device_error + queued: 4 is not 5");
    expect_broken([](Snapshot& s) { s.streams[0].heaps_unwritten++; },
                  "s0: ended = delivered + unwritten + dropped_full + device_error + queued: 4 is not 5");
    expect_broken([](Snapshot& s) { s.sends[0].counters.copied_packets++; },
                  "d0: packets = zero copy + copied: 5 is not 6");
    expect_broken([](Snapshot& s) { s.removed_sends.counters.packets++; },
                  "packets sent by ports = packets of senders: 5 is not 6");
    expect_broken([](Snapshot& s) { s.streams[0].by_endpoint[1].packets--; },
                  "s0: received = sum over endpoints: 10 is not 9");
    expect_broken([](Snapshot& s) { s.streams[0].by_endpoint[0].bytes--; },
                  "s0: bytes = sum over endpoints: 7000 is not 6999");
    expect_broken([](Snapshot& s) { s.streams[0].control_bytes++; },
                  "s0: bytes = sum over endpoints: 7001 is not 7000");
    expect_broken([](Snapshot& s) { s.streams[0].latency.buckets[0].count++; },
                  "s0: latencies = sum of their buckets: 2 is not 3");
    expect_broken(
        [](Snapshot& s) {
            s.streams[0].latency.count++;
            s.streams[0].latency.buckets[0].count++;
        },
        "s0: handed over = heaps whose latency is known: 2 is not 3");
    expect_broken([](Snapshot& s) { s.streams[0].heaps_dropped_oldest++; },
                  "s0: ended = handed over + waiting + dropped at once: 4 is not 3");
    expect_broken([](Snapshot& s) { s.streams[0].heaps_waiting++; },
                  "s0: ended = handed over + waiting + dropped at once: 4 is not 5");
    expect_broken([](Snapshot& s) { s.ports[0].rx_burst_sizes[0]++; },
                  "p0: bursts = sum of burst sizes: 6 is not 7");
    expect_broken([](Snapshot& s) { s.ports[0].rx_full_bursts++; },
                  "p0: full bursts = bursts of full size: 2 is not 1");
    expect_broken([](Snapshot& s) { s.ports[0].talkers[0].packets++; },
                  "p0: rx packets = sum over senders: 13 is not 14");
    expect_broken([](Snapshot& s) { s.lcores[0].burst_sizes[0]++; },
                  "lcore 4: bursts = sum of burst sizes: 6 is not 7");
    expect_broken(
        [](Snapshot& s) {
            s.lcores[0].bursts++;
            s.lcores[0].burst_sizes[0]++;
        },
        "bursts of ports = bursts of lcores: 6 is not 7");
    expect_broken([](Snapshot& s) { s.lcores[0].full_bursts++; },
                  "lcore 4: full bursts = bursts of full size: 2 is not 1");
    expect_broken([](Snapshot& s) { s.lcores[0].counters.idle_cycles++; },
                  "lcore 4: cycles = busy + idle: 120 is not 121");
    expect_broken(
        [](Snapshot& s) {
            s.ports[0].rx[static_cast<std::size_t>(PortOutcome::stream)]--;
            s.ports[0].rx_packets--;
            s.ports[0].talkers_unattributed--;
            s.lcores[0].ports[0].received--;
        },
        "packets handed to streams = received by streams: 9 is not 10");
}

TEST(Identities, PacketsOfOnePortMayBelongToSeveralStreams) {
    Snapshot snapshot = sound();
    StreamSnapshot other;
    other.name = "s1";
    other.add(block(), 0);
    other.by_endpoint = snapshot.streams[0].by_endpoint;
    other.latency = snapshot.streams[0].latency;
    snapshot.streams.push_back(other);
    snapshot.lcores[0].streams.push_back({"s1", 10});
    EXPECT_EQ(broken_identities(snapshot).size(), 1u);
    snapshot.ports[0].rx[static_cast<std::size_t>(PortOutcome::stream)] += 10;
    snapshot.ports[0].rx_packets += 10;
    snapshot.ports[0].talkers_unattributed += 10;
    snapshot.lcores[0].ports[0].received += 10;
    EXPECT_EQ(broken_identities(snapshot), std::vector<std::string>{});
}

TEST(BurstSizes, HaveABinPerPowerOfTwoAndFullOnesByThemselves) {
    EXPECT_EQ(burst_bin(1), 0U);
    EXPECT_EQ(burst_bin(2), 1U);
    EXPECT_EQ(burst_bin(3), 1U);
    EXPECT_EQ(burst_bin(32), 5U);
    EXPECT_EQ(burst_bin(63), 5U);
    EXPECT_EQ(burst_bin(64), kBurstBins - 1);
    EXPECT_EQ(kFullBurst, 64);
}

TEST(LcoreCounters, TellBusyFromIdleAndTheLongestLoopWithoutItsRest) {
    LcoreCounters c;
    c.loop(10, true, 0, 100);
    c.loop(1000, false, 980, 100);
    c.loop(30, false, 0, 100);
    c.loop(5, false, 20, 100);
    EXPECT_EQ(c.loops, 4U);
    EXPECT_EQ(c.busy_loops, 1U);
    EXPECT_EQ(c.busy_cycles, 10U);
    EXPECT_EQ(c.idle_cycles, 1035U);
    EXPECT_EQ(c.cycles, 1045U);
    EXPECT_EQ(c.longest_loop, 30U);
    EXPECT_EQ(c.interrupted_cycles, 0U);
}

/// Tests a process that was stopped while its lcore slept for a millisecond.
TEST(LcoreCounters, ARestThatTakesLongerThanItWasToIsAnAbsence) {
    LcoreCounters c;
    c.loop(3'000'000, false, 1000, 1000);
    c.loop(500, true, 0, 1000);
    EXPECT_EQ(c.longest_loop, 2'999'000U);
    EXPECT_EQ(c.interrupted_cycles, 2'999'000U);
    EXPECT_EQ(c.cycles, 3'000'500U);
}

TEST(OutcomeNames, AreOnePerOutcomeAndAllDifferent) {
    for (std::size_t i = 0; i < kPacketOutcomes; i++) {
        EXPECT_FALSE(kPacketOutcomeNames[i].empty());
        for (std::size_t j = 0; j < i; j++)
            EXPECT_NE(kPacketOutcomeNames[i], kPacketOutcomeNames[j]);
    }
    EXPECT_EQ(name_of(PacketOutcome::stopped), "stopped");
    EXPECT_EQ(name_of(PacketOutcome::heap_too_big), "heap_too_big");
    EXPECT_EQ(name_of(PortOutcome::arp), "arp");
    EXPECT_EQ(name_of(HeapEnd::flushed), "flushed");
}

TEST(Identities, ACapturesPacketsAreWrittenUnwrittenOrBuffered) {
    Snapshot snapshot;
    CaptureSnapshot& c = snapshot.captures.emplace_back();
    c.stream = "s0";
    c.taken = 10;
    c.written = 6;
    c.unwritten = 3;
    EXPECT_TRUE(broken_identities(snapshot).empty());
    c.finished = true;
    EXPECT_EQ(broken_identities(snapshot).size(), 1u) << "one is still on its way";
    c.unwritten = 4;
    EXPECT_TRUE(broken_identities(snapshot).empty());
    c.finished = false;
    c.written = 7;
    EXPECT_EQ(broken_identities(snapshot).size(), 1u) << "more was written than taken";
}

TEST(Identities, WherePacketsEndInCapturesTheStreamCountsThem) {
    Snapshot snapshot = sound();
    StreamSnapshot& s = snapshot.streams[0];
    const auto outcome = [&](PacketOutcome o) -> std::uint64_t& {
        return s.packets[static_cast<std::size_t>(o)];
    };
    std::swap(outcome(PacketOutcome::captured), outcome(PacketOutcome::placed));
    outcome(PacketOutcome::capture_full) = std::exchange(outcome(PacketOutcome::duplicate), 0);
    EXPECT_EQ(broken_identities(snapshot).size(), 2u) << "nobody has taken them";
    for (const std::uint64_t taken : {3u, 4u}) {
        CaptureSnapshot& c = snapshot.captures.emplace_back();
        c.stream = "s0";
        c.only = true;
        c.taken = taken;
        c.dropped_full = 1;
    }
    EXPECT_TRUE(broken_identities(snapshot).empty());
    snapshot.captures[0].dropped_full = 2;
    EXPECT_EQ(broken_identities(snapshot).size(), 1u);
}

TEST(Identities, AReplaysRecordsAreSentOrRefusedByName) {
    Snapshot snapshot;
    ReplaySnapshot& r = snapshot.replays.emplace_back();
    r.records = 15;
    r.frames = 5;
    r.cut = 4;
    r.runts = 3;
    r.too_long = 2;
    r.not_udp = 1;
    EXPECT_TRUE(broken_identities(snapshot).empty());
    r.not_udp = 0;
    EXPECT_EQ(broken_identities(snapshot).size(), 1u);
}

}  // namespace
}  // namespace spead::stats
