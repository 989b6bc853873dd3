// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests damaged, forged and lost packets: good heaps arrive whole, everything else is counted.
namespace spead::recv::test {
namespace {

MadeHeap good_heap(std::uint64_t cnt, Random& random) {
    const wire::Flavour flavour(random() % 2 == 0 ? 48 : 40);
    MadeHeap h{.cnt = cnt, .length = 1 + random() % 6000, .packet = 40 + random() % 900, .flavour = flavour};
    h.items = {flavour.make_address(0x1000, 0), flavour.make_immediate(0x1001, cnt)};
    return h;
}

/// Adds a frame to the queue, in one segment or in several.
void add(FakeRx& queue, const Bytes& f, Random& random) {
    if (random() % 4 != 0) {
        queue.add(f);
        return;
    }
    std::vector<std::size_t> lengths;
    std::size_t left = f.size();
    for (std::size_t i = 0; i < random() % 4; i++) {
        lengths.push_back(random() % (left + 1));
        left -= lengths.back();
    }
    queue.add(queue.chain(f, lengths));
}

Way any_way(Random& random) {
    Way way;
    if (random() % 8 == 0)
        way.tags = {wire::kEtherTypeVlan};
    if (random() % 8 == 0)
        way.ihl = 5 + random() % 11;
    way.padding = random() % 8 == 0 ? random() % 40 : 0;
    way.from_port = static_cast<std::uint16_t>(random());
    way.id = static_cast<std::uint16_t>(random());
    return way;
}

/// Returns the frame damaged or forged.
Bytes broken(Bytes f, Random& random) {
    const auto at = [&] { return random() % f.size(); };
    const std::uint32_t flips = 1 + random() % 4;
    switch (random() % 6) {
        case 0:  // truncated
            f.resize(random() % f.size());
            return f;
        case 1:  // bits anywhere in the headers
            for (std::uint32_t i = 0; i < flips; i++)
                f[std::min<std::size_t>(at(), random() % 120)] ^=
                    static_cast<std::uint8_t>(1U << random() % 8);
            return f;
        case 2:  // the same, with a sum that is right
            for (std::uint32_t i = 0; i < flips; i++)
                f[std::min<std::size_t>(at(), random() % 120)] ^=
                    static_cast<std::uint8_t>(1U << random() % 8);
            if (f.size() >= 74)
                sum(f);
            return f;
        case 3:  // lengths of IP and UDP that were never true
            store_be16(&f[16], static_cast<std::uint16_t>(random()));
            if (random() % 2 == 0)
                store_be16(&f[38], static_cast<std::uint16_t>(random()));
            sum(f);
            return f;
        case 4:  // numbers in the SPEAD header and the pointers
            store_be16(&f[48], static_cast<std::uint16_t>(random() % 3 == 0 ? random() : random() % 12));
            if (f.size() > 90)
                store_be32(&f[54 + random() % 32], random());
            return f;
        default:  // noise of any length
            f.resize(random() % 1500);
            for (std::uint8_t& byte : f)
                byte = static_cast<std::uint8_t>(random());
            return f;
    }
}

class Seeds : public testing::TestWithParam<std::uint32_t> {};

using BrokenPackets = Seeds;

TEST_P(BrokenPackets, ChangeNothingButCounters) {
    Random random(GetParam());
    LaneConfig config = lane_config("s0", one_group());
    config.window.max_live = 8;
    OneStream rig(config);
    const std::size_t arena_capacity = rig.arena.capacity();
    std::uint64_t n_broken = 0;
    std::uint64_t n_good = 0;
    std::map<std::uint64_t, MadeHeap> made;
    std::vector<Taken> heaps;
    const auto poll = [&] {
        rig.poll_all();
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
    };
    for (std::uint64_t cnt = 1; cnt <= 300; cnt++) {
        const MadeHeap h = good_heap(cnt, random);
        made.emplace(cnt, h);
        for (const Bytes& datagram : h.datagrams()) {
            add(rig.queue(), frame(datagram, any_way(random)), random);
            n_good++;
            while (random() % 2 == 0) {
                // Heap counts far from those of the good ones, so that no flip makes one of theirs.
                MadeHeap other = good_heap((std::uint64_t{random()} << 8) | 0x5A5A5A5A00000000, random);
                other.cnt &= other.flavour.value_mask();
                const std::vector<Bytes> frames = other.frames();
                const Bytes b = broken(frames[random() % frames.size()], random);
                // A frame that still is a packet of the stream belongs to another heap, and is not broken.
                if (judge(b.data(), b.size(), true, rig.sources[0]->classifier, config.max_packet_size))
                    continue;
                add(rig.queue(), b, random);
                n_broken++;
            }
            if (rig.queue().waiting() > 150)
                poll();
        }
    }
    poll();
    EXPECT_GT(n_broken, 1000U);
    ASSERT_EQ(heaps.size(), 300U);
    for (const Taken& t : heaps) {
        ASSERT_TRUE(is_whole(t, made.at(t.cnt)));
        ASSERT_EQ(t.items.size(), 2U);
    }
    EXPECT_EQ(rig.count(PacketOutcome::placed), n_good);
    EXPECT_EQ(rig.others(PortOutcome::stream) + rig.others(PacketOutcome::placed), n_broken);
    EXPECT_EQ(rig.count(PacketOutcome::malformed) + rig.count(PacketOutcome::oversize),
              rig.others(PacketOutcome::placed));
    EXPECT_EQ(rig.lane().counters.heaps_started, 300U);
    EXPECT_EQ(rig.arena.capacity(), arena_capacity);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BrokenPackets, testing::Range(1U, 7U));

using HostileHeaps = Seeds;

/// Sends packets that break no rule, with extreme counts, lengths, offsets and item pointers, to a small
/// memory. Requires only that each ends in a counter, and that all memory comes back.
TEST_P(HostileHeaps, EndInCounters) {
    Random random(GetParam());
    LaneConfig config = lane_config("s0", one_group());
    config.window.max_live = 4;
    config.window.substreams = 1 + random() % 3;
    config.window.in_order = random() % 4 == 0;
    config.window.history = random() % 3 == 0 ? 0 : 64;
    config.window.timeout_ticks = random() % 2 == 0 ? 50'000 : 0;
    config.window.on_full = random() % 2 == 0 ? heap::FullPolicy::drop_oldest : heap::FullPolicy::drop_newest;
    config.queue_heaps = 8;
    Rig rig(1U << 20, 256U << 10);
    rig.add_source();
    rig.add_lane(0, config);
    const std::vector<std::uint64_t> edges{0,       1,          2,          255,        4096,        65535,
                                           0x3FFFF, 256 * 1024, 0xFFFFFFFF, 0x80000000, 0xFFFFFFFFFF};
    const auto edge = [&] { return edges[random() % edges.size()] + random() % 3 - 1; };
    std::vector<heap::HeapHandle> held;
    for (int i = 0; i < 6000; i++) {
        wire::test::Packet p = any_packet(random);
        const std::uint64_t mask = p.flavour.value_mask();
        p.payload.resize(random() % 4 == 0 ? 0 : random() % 300);
        const std::uint64_t offset = p.payload.size() * (random() % 8);
        for (std::uint64_t& raw : p.pointers) {
            const std::uint64_t id = p.flavour.id(raw);
            std::uint64_t value = raw;
            if (random() % 12 == 0)
                value = edge();
            else if (!p.flavour.is_immediate(raw))
                value = random() % 3000;
            else if (id == wire::item::kHeapCnt)
                value = static_cast<std::uint64_t>(i) / 16 + random() % 16;
            else if (id == wire::item::kHeapLength)
                value = random() % 4 == 0 ? offset + p.payload.size() : 2400;
            else if (id == wire::item::kPayloadOffset)
                value = offset;
            else if (id == wire::item::kPayloadLength)
                value = p.payload.size();
            raw = (raw & ~mask) | (value & mask);
        }
        add(rig.queue(), frame(p.build(), any_way(random)), random);
        if (random() % 20 == 0)
            rig.poll();
        if (random() % 200 == 0)
            rig.agent.housekeep(rig.now);
        if (random() % 50 == 0) {
            if (heap::HeapHandle h = rig.lane().queue.try_pop()) {
                static_cast<void>(taken(h));
                held.push_back(std::move(h));
            }
        }
        if (held.size() > 4)
            held.clear();
    }
    held.clear();
    rig.poll_all();
    EXPECT_GT(rig.count(PacketOutcome::placed), 100U);
    EXPECT_GT(rig.others(PacketOutcome::placed), 1000U);
    rig.take();
}

INSTANTIATE_TEST_SUITE_P(Seeds, HostileHeaps, testing::Range(1U, 9U));

using LossyNetwork = Seeds;

/// Loses, doubles and reorders packets, within the window's limits. A heap whose packets all came is whole,
/// and the others lack exactly the lost ones.
TEST_P(LossyNetwork, LosesExactlyWhatItLost) {
    Random random(GetParam());
    constexpr std::uint64_t kHeaps = 64;
    LaneConfig config = lane_config("s0", one_group());
    config.window.max_live = kHeaps;
    OneStream rig(config);

    struct Sent {
        std::uint64_t cnt;
        std::size_t offset, length;
        Bytes frame;
    };
    std::map<std::uint64_t, MadeHeap> made;
    std::vector<Sent> packets;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        MadeHeap h = good_heap(cnt, random);
        if (random() % 8 == 0)
            h.packet = 2500;  // fused
        h.tells_length = true;
        made.emplace(cnt, h);
        for (std::size_t at = 0; at < h.length; at += h.packet) {
            const std::size_t n = std::min(h.packet, h.length - at);
            packets.push_back({cnt, at, n, frame(h.datagram(at, n, true), any_way(random))});
        }
    }
    // Overtaken within a few dozen packets, or anywhere.
    const std::size_t reach = GetParam() % 3 == 0 ? packets.size() : 1 + random() % 60;
    for (std::size_t at = 0; at < packets.size(); at += reach)
        std::shuffle(packets.begin() + static_cast<std::ptrdiff_t>(at),
                     packets.begin() + static_cast<std::ptrdiff_t>(std::min(packets.size(), at + reach)),
                     random);

    const std::uint32_t loss = random() % 3 == 0 ? 0 : 1 + random() % 10;  // percent
    const std::uint32_t doubled = random() % 20;
    std::uint64_t copies = 0;
    std::uint64_t arrived = 0;
    std::map<std::uint64_t, std::map<std::size_t, std::size_t>> lost;
    std::set<std::uint64_t> begun;
    std::vector<Bytes> again;
    for (const Sent& p : packets) {
        if (random() % 100 < loss) {
            lost[p.cnt][p.offset] = p.offset + p.length;
        } else {
            add(rig.queue(), p.frame, random);
            begun.insert(p.cnt);
            arrived++;
            if (random() % 100 < doubled) {
                copies++;
                if (random() % 2 == 0)
                    add(rig.queue(), p.frame, random);
                else
                    again.push_back(p.frame);  // long after
            }
        }
        if (rig.queue().waiting() > 150)
            rig.poll_all();
    }
    for (const Bytes& f : again) {
        add(rig.queue(), f, random);
        if (rig.queue().waiting() > 150)
            rig.poll_all();
    }
    rig.poll_all();
    EXPECT_EQ(rig.count(PacketOutcome::placed), arrived);
    EXPECT_EQ(rig.count(PacketOutcome::duplicate), copies);
    EXPECT_EQ(rig.picture().streams[0].received, arrived + copies);
    EXPECT_EQ(rig.others(PortOutcome::stream), 0U);

    EXPECT_TRUE(rig.agent.flush());
    const std::vector<Taken> heaps = rig.take();
    EXPECT_EQ(heaps.size(), begun.size());
    for (const Taken& t : heaps) {
        const MadeHeap& h = made.at(t.cnt);
        if (!lost.contains(t.cnt)) {
            ASSERT_TRUE(is_whole(t, h));
            ASSERT_EQ(t.items.size(), 2U);
            continue;
        }
        ASSERT_FALSE(t.complete);
        std::vector<heap::Range> missing;
        for (const auto& [begin, end] : lost.at(t.cnt)) {
            if (!missing.empty() && missing.back().end == begin)
                missing.back().end = static_cast<std::uint32_t>(end);
            else
                missing.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
        }
        ASSERT_EQ(t.missing, missing) << "of heap " << t.cnt;
        for (std::size_t i = 0; i < h.length; i++) {
            const bool is_missing = std::any_of(missing.begin(), missing.end(), [i](const heap::Range& r) {
                return r.begin <= i && i < r.end;
            });
            ASSERT_TRUE(is_missing || static_cast<std::uint8_t>(t.payload[i]) == h.byte(i))
                << "byte " << i << " of heap " << t.cnt;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LossyNetwork, testing::Range(1U, 13U));

/// Mixes a real stream's packets with as many of no stream, of another kind or broken, in the same burst.
TEST(MixedTraffic, EndsInTheCountersOfItsKinds) {
    OneStream rig;
    Bytes other_type = frame(Bytes(40));
    store_be16(&other_type[12], 0x88CC);
    Bytes igmp = frame(Bytes(40));
    igmp[23] = 2;
    sum(igmp);
    for (std::uint64_t cnt = 1; cnt <= 100; cnt++) {
        rig.queue().add(MadeHeap{.cnt = cnt}.frames());
        rig.queue().add(MadeHeap{.cnt = cnt}.frames({.port = 7000})[0]);
        rig.queue().add(other_type);
        rig.queue().add(igmp);
        rig.queue().add(frame(Bytes(40)));
        if (cnt % 20 == 0)
            rig.poll_all();
    }
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 100U);
    EXPECT_EQ(rig.count(PortOutcome::not_udp), 100U);
    EXPECT_EQ(rig.count(PortOutcome::igmp), 100U);
    EXPECT_EQ(rig.count(PacketOutcome::malformed), 100U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 300U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 100U);
    rig.take();
}

}  // namespace
}  // namespace spead::recv::test
