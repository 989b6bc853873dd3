// SPDX-License-Identifier: BSD-3-Clause
#include "recv/datagram_lane.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recv/pcap_file_reader.hpp"
#include "tests/eal/recv/port_source.hpp"
#include "tests/support/pcap_writer.hpp"
#include "wire/flavour.hpp"

/// Tests that the lane without EAL makes the same heaps and the same counts of a capture as an RX lcore does,
/// from a port and from mbufs.
namespace spead::recv::test {
namespace {

constexpr std::size_t kLargestHeap = 20'000;

/// Makes random traffic of several senders: with loss, doubled and shuffled packets, broken and forged ones,
/// and some that are not for the stream.
std::vector<Bytes> any_capture(Random& random) {
    const auto one_in = [&random](std::uint32_t n) { return random() % n == 0; };
    std::vector<Bytes> frames;
    const std::uint32_t loss = 4 + random() % 40;
    const std::uint32_t repeat = 4 + random() % 40;
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++) {
        Way way;
        way.from += random() % 3;
        way.to += one_in(8) ? random() % 3 : 0;
        if (one_in(6))
            way.tags = {wire::kEtherTypeVlan};
        if (one_in(10))
            way.padding = random() % 20;
        MadeHeap heap{.cnt = one_in(12) ? 1 + random() % 40 : cnt,
                      .length = one_in(3) ? 1 + random() % 300 : random() % kLargestHeap,
                      .packet = 100 + random() % 9000};
        heap.tells_length = !one_in(10);
        heap.items = {heap.flavour.make_address(0x1000, 0), heap.flavour.make_immediate(0x1600, cnt)};
        for (const Bytes& f : heap.frames(way)) {
            if (one_in(loss))
                continue;
            frames.push_back(f);
            if (one_in(repeat))
                frames.push_back(f);
        }
        if (one_in(6))
            frames.push_back(frame(any_packet(random).build(), way));
        if (one_in(40))
            frames.push_back(frame(stop_datagram(1000 + cnt), way));
    }
    // Neighbours change places, most of them not far.
    const std::size_t reach = 1 + random() % 30;
    for (std::size_t i = 0; i + reach < frames.size(); i++)
        if (one_in(3))
            std::swap(frames[i], frames[i + random() % reach]);
    for (Bytes& f : frames)
        if (one_in(50))
            f[random() % f.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
        else if (one_in(80))
            f.resize(1 + random() % f.size());
    return frames;
}

LaneConfig any_config(Random& random) {
    LaneConfig c = lane_config("s0", one_group());
    c.endpoints.push_back({{Way{}.to + 1}, Way{}.port, {Way{}.from + 1}});
    c.max_packet_size = random() % 3 == 0 ? 4000 : 9200;
    c.queue_heaps = 4096;
    c.window.max_heap_bytes = kLargestHeap;
    c.window.history_ticks = 0;
    c.window.max_live = 1 + random() % 8;
    c.window.substreams = 1 + random() % 3;
    c.window.guarded = random() % 2 == 0;
    c.window.in_order = random() % 4 == 0;
    c.window.control_heaps = random() % 2 == 0;
    c.window.stop_on_stop_item = random() % 4 == 0;
    c.window.on_full = random() % 2 == 0 ? heap::FullPolicy::block : heap::FullPolicy::drop_newest;
    return c;
}

/// Lists everything that was received and counted, by name.
struct Outcome {
    std::vector<Taken> heaps;
    std::vector<std::pair<std::string, std::uint64_t>> counts;
};

std::vector<Taken> take_from(heap::HeapQueue& queue) {
    std::vector<Taken> all;
    while (const heap::HeapHandle h = queue.try_pop())
        all.push_back(taken(h));
    return all;
}

void count(Outcome& o, const SpeadLane& lane, const Source& source) {
    const stats::StreamCounters& s = lane.counters;
    const auto add = [&o](const std::string& name, std::uint64_t n) { o.counts.emplace_back(name, n); };
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        add(std::string(kPacketOutcomeNames[i]), s.packets[i]);
    for (std::size_t i = 0; i < kHeapEnds; i++)
        add(std::string(kHeapEndNames[i]), s.heaps_ended[i]);
    add("bytes", s.bytes);
    add("heaps_started", s.heaps_started);
    add("heaps_pushed", s.heaps_pushed);
    add("heaps_dropped_full", s.heaps_dropped_full);
    add("packets_reordered", s.packets_reordered);
    add("heaps_interleaved_evictions", s.heaps_interleaved_evictions);
    add("missing_bytes", s.missing_bytes);
    add("missing_packets", s.missing_packets);
    add("stop_items", s.stop_items);
    add("control_bytes", s.control_bytes);
    add("packets_at_limit", s.packets_at_limit);
    add("heaps_ghosts", s.heaps_ghosts);
    add("heaps_dropped_ghosts", s.heaps_dropped_ghosts);
    for (std::size_t i = 0; i < lane.endpoints.size(); i++) {
        add("endpoint packets", lane.endpoints[i].packets);
        add("endpoint bytes", lane.endpoints[i].bytes);
        add("stops seen", lane.stops_seen[i]);
    }
    for (std::size_t i = 0; i < kPortOutcomes; i++)
        add("port " + std::string(kPortOutcomeNames[i]), source.counters.packets[i]);
    add("port bytes", source.counters.bytes);
    add("port vlan_tagged", source.counters.vlan_tagged);
}

void expect_equal(const Outcome& a, const Outcome& b) {
    ASSERT_EQ(a.counts.size(), b.counts.size());
    for (std::size_t i = 0; i < a.counts.size(); i++)
        EXPECT_EQ(a.counts[i], b.counts[i]);
    ASSERT_EQ(a.heaps.size(), b.heaps.size());
    for (std::size_t i = 0; i < a.heaps.size(); i++) {
        EXPECT_TRUE(a.heaps[i] == b.heaps[i]) << "heap " << i << ", of count " << a.heaps[i].cnt;
        EXPECT_EQ(a.heaps[i].source, b.heaps[i].source);
    }
}

TEST(DatagramLane, MakesTheSameAsAnLcoreOfMbufs) {
    std::uint64_t no_memory = 0;
    std::uint64_t placed = 0;
    for (unsigned seed = 1; seed <= 300; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        const std::vector<Bytes> frames = any_capture(random);
        LaneConfig config = any_config(random);
        // Every third one has too little memory. If packets waited, they would go on at other moments.
        const std::size_t arena = seed % 3 == 0 ? 128U << 10 : 8U << 20;
        if (seed % 3 == 0)
            config.window.on_full = heap::FullPolicy::drop_newest;

        DatagramLane local(config, arena);
        Rig rig(arena, config.window.max_heap_bytes);
        rig.add_source();
        rig.add_lane(0, config);
        const std::vector<std::span<const std::uint8_t>> list(frames.begin(), frames.end());
        Outcome mine;
        Outcome lcore;
        const auto take_both = [&] {
            for (Taken& t : take_from(local.queue()))
                mine.heaps.push_back(std::move(t));
            for (Taken& t : take_from(rig.lane().queue))
                lcore.heaps.push_back(std::move(t));
        };
        for (std::size_t at = 0; at < list.size();) {
            const std::size_t n = std::min<std::size_t>(list.size() - at, RxAgent::kBurst);
            for (std::size_t i = 0; i < n; i++)
                rig.queue().add(frames[at + i]);
            rig.poll();
            ASSERT_EQ(local.take_frames(std::span(list).subspan(at, n), rig.now), n);
            at += n;
            if (random() % 2 == 0)
                take_both();
        }
        ASSERT_TRUE(rig.agent.flush());
        ASSERT_TRUE(local.flush());
        take_both();
        count(mine, local.lane(), local.source());
        count(lcore, rig.lane(), *rig.sources[0]);
        expect_equal(mine, lcore);
        no_memory += rig.count(PacketOutcome::no_memory);
        placed += rig.count(PacketOutcome::placed);
    }
    EXPECT_GT(placed, 10'000U);
    EXPECT_GT(no_memory, 0U);
}

TEST(DatagramLane, MakesTheSameOfAFileAsAPortThatReadsIt) {
    port::test::Directory directory;
    for (unsigned seed = 1; seed <= 40; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(1000 + seed);
        std::vector<Bytes> frames = any_capture(random);
        const LaneConfig config = any_config(random);
        const std::string path = directory.file("in.pcap");
        {
            spead::test::PcapWriter writer(path);
            for (const Bytes& f : frames)
                writer.record(f);
        }
        Outcome mine;
        {
            DatagramLane local(config, 8U << 20);
            PcapFileReader reader(path, "receive s0");
            std::uint64_t now = 1;
            while (reader.feed(local, now += 1000) != PacketReader::Fed::end) {
            }
            ASSERT_TRUE(local.flush());
            count(mine, local.lane(), local.source());
            mine.heaps = take_from(local.queue());
        }
        PortRig rig("net_pcap0,rx_pcap=" + path, config);
        rig.expect_remarks();
        rig.poll_until(frames.size());
        rig.flush();
        Outcome port;
        count(port, rig.lane(), rig.source());
        port.heaps = rig.take();
        expect_equal(mine, port);
    }
}

}  // namespace
}  // namespace spead::recv::test
