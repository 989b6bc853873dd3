// SPDX-License-Identifier: BSD-3-Clause
#include "recv/datagram_lane.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/chunk/ring_rig.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests the lane without EAL, in a process that never starts EAL.
namespace spead::recv::test {
namespace {

constexpr std::size_t kArena = std::size_t{2} << 20;

/// Holds a lane, and checks at every step that each packet is in one counter.
class LocalRig {
  public:
    explicit LocalRig(const LaneConfig& config = local_config(), std::size_t memory = kArena)
        : lane(config, memory) {}
    ~LocalRig() {
        for (int i = 0; i < 1000 && !lane.flush(); i++)
            take_heaps();
        lane.drop_rest();
        take_heaps();
        lane.housekeep(++now);
        check();
        EXPECT_EQ(lane.lane().window.records_out(), 0U);
        EXPECT_EQ(lane.lane().window.placer().out(), 0U);
        EXPECT_EQ(lane.lane().counters.heaps_live, 0U);
    }
    LocalRig(const LocalRig&) = delete;
    LocalRig& operator=(const LocalRig&) = delete;

    /// Gives datagrams. Returns how many were taken. Then their bytes are gone.
    std::size_t give(const std::vector<Bytes>& datagrams, bool headroom = false) {
        std::vector<Bytes> copies;
        std::vector<Datagram> list;
        for (const Bytes& d : datagrams) {
            Bytes& copy = copies.emplace_back(wire::kNetHeader + d.size());
            std::copy(d.begin(), d.end(), copy.begin() + wire::kNetHeader);
            list.push_back(
                {kLocalWay, std::span<const std::uint8_t>(copy).subspan(wire::kNetHeader), headroom});
        }
        return count(lane.take(list, ++now));
    }
    std::size_t give_frames(const std::vector<Bytes>& frames) {
        const std::vector<Bytes> copies = frames;
        const std::vector<std::span<const std::uint8_t>> list(copies.begin(), copies.end());
        return count(lane.take_frames(list, ++now));
    }
    std::vector<std::uint64_t> take_heaps() {
        std::vector<std::uint64_t> counts;
        lane.idle(++now);
        while (const heap::HeapHandle h = lane.queue().try_pop()) {
            counts.push_back(h.cnt());
            if (h.complete())
                contents.emplace_back(reinterpret_cast<const char*>(h.payload().data()), h.payload().size());
            for (std::size_t i = 0; patterned && h.complete() && i < h.payload().size(); i++)
                if (std::to_integer<std::uint8_t>(h.payload()[i]) != heap::test::pattern(h.cnt(), i)) {
                    ADD_FAILURE() << "byte " << i << " of heap " << h.cnt();
                    break;
                }
        }
        check();
        return counts;
    }
    std::uint64_t packets(PacketOutcome o) const { return lane.lane().counters[o]; }
    std::uint64_t packets(PortOutcome o) const { return lane.counters()[o]; }

    void check() const {
        stats::Snapshot s;
        s.streams.emplace_back().name = "s0";
        s.streams.back().add(lane.lane().counters, lane.lane().queue.taken());
        s.ports.emplace_back().name = "p0";
        s.ports.back().add(lane.counters());
        for (const std::string& broken : stats::broken_identities(s))
            ADD_FAILURE() << broken;
        EXPECT_EQ(s.ports[0].rx_packets, given);
        EXPECT_EQ(lane.lane().endpoints[0].packets, s.streams[0].received);
    }

    DatagramLane lane;
    std::uint64_t now = 1;
    std::uint64_t given = 0;
    bool patterned = true;              ///< check the content of complete heaps
    std::vector<std::string> contents;  ///< of complete heaps

  private:
    std::size_t count(std::size_t taken) {
        given += taken;
        check();
        return taken;
    }
};

TEST(DatagramLane, MakesHeapsOfDatagrams) {
    for (const bool headroom : {false, true}) {
        LocalRig rig;
        EXPECT_EQ(rig.give(many_datagrams(100), headroom), 300U);
        EXPECT_EQ(rig.packets(PacketOutcome::placed), 300U);
        EXPECT_EQ(rig.take_heaps().size(), 100U);
        EXPECT_EQ(rig.lane.counters().multi_segment, headroom ? 0U : 300U);
    }
}

/// Returns datagrams of heaps with up to 20 items, some of them without a length, bad, cut or repeated.
std::vector<Bytes> mixed_datagrams(std::mt19937& random) {
    const auto below = [&random](std::size_t n) { return random() % n; };
    std::vector<Bytes> all;
    for (std::uint64_t cnt = 1; cnt <= 200; cnt++) {
        MadeHeap heap{.cnt = cnt, .length = 1 + below(3000), .packet = 1 + below(900)};
        heap.tells_length = below(8) != 0;
        for (std::size_t items = below(4) == 0 ? below(20) : 1; items != 0; items--)
            heap.items.push_back(heap.flavour.make_immediate(0x1000 + items, below(100)));
        for (const Bytes& d : heap.datagrams()) {
            all.push_back(d);
            if (below(30) == 0)
                all.back()[below(std::min<std::size_t>(d.size(), 60))] ^=
                    static_cast<std::uint8_t>(1 + below(255));
            if (below(30) == 0)
                all.back().resize(below(d.size() + 1));
            if (below(30) == 0)
                all.push_back(all[below(all.size())]);
        }
    }
    return all;
}

TEST(DatagramLane, TakesDatagramsAlikeWhetherItsHeadersAreBeforeThemOrApart) {
    std::mt19937 random(12);
    for (int round = 0; round < 20; round++) {
        const std::vector<Bytes> datagrams = mixed_datagrams(random);
        std::array<LocalRig, 2> rigs;
        std::array<std::vector<std::uint64_t>, 2> heaps;
        for (LocalRig& rig : rigs)
            rig.patterned = false;
        for (std::size_t at = 0; at < datagrams.size();) {
            const std::size_t end = std::min(datagrams.size(), at + 1 + random() % 64);
            const std::vector<Bytes> some(datagrams.begin() + static_cast<std::ptrdiff_t>(at),
                                          datagrams.begin() + static_cast<std::ptrdiff_t>(end));
            for (const bool headroom : {false, true}) {
                EXPECT_EQ(rigs[headroom].give(some, headroom), some.size());
                const std::vector<std::uint64_t> taken = rigs[headroom].take_heaps();
                heaps[headroom].insert(heaps[headroom].end(), taken.begin(), taken.end());
            }
            at = end;
        }
        EXPECT_EQ(heaps[0], heaps[1]);
        EXPECT_EQ(rigs[0].contents, rigs[1].contents);
        EXPECT_FALSE(rigs[0].contents.empty());
        for (std::size_t o = 0; o < static_cast<std::size_t>(PacketOutcome::count_); o++)
            EXPECT_EQ(rigs[0].packets(static_cast<PacketOutcome>(o)),
                      rigs[1].packets(static_cast<PacketOutcome>(o)))
                << name_of(static_cast<PacketOutcome>(o));
    }
}

TEST(DatagramLane, MakesHeapsOfFrames) {
    LocalRig rig;
    std::vector<Bytes> frames;
    for (const Bytes& d : many_datagrams(100))
        frames.push_back(frame(d));
    EXPECT_EQ(rig.give_frames(frames), 300U);
    EXPECT_EQ(rig.packets(PacketOutcome::placed), 300U);
    EXPECT_EQ(rig.take_heaps().size(), 100U);
}

TEST(DatagramLane, CountsFramesThatAreNotForTheStreamAsAPortDoes) {
    LocalRig rig;
    const Bytes good = frame(MadeHeap{}.datagrams()[0]);
    Bytes short_one(good.begin(), good.begin() + 20);
    Bytes sum = good;
    sum[wire::kEthernetHeader + 10] ^= 1;
    Bytes arp = good;
    arp[12] = 0x08;
    arp[13] = 0x06;
    Way elsewhere;
    elsewhere.port = 9;
    rig.give_frames({good, short_one, sum, arp, frame(MadeHeap{}.datagrams()[0], elsewhere), {}});
    EXPECT_EQ(rig.packets(PortOutcome::stream), 1U);
    EXPECT_EQ(rig.packets(PortOutcome::malformed), 2U);
    EXPECT_EQ(rig.packets(PortOutcome::bad_checksum), 1U);
    EXPECT_EQ(rig.packets(PortOutcome::arp), 1U);
    EXPECT_EQ(rig.packets(PortOutcome::unmatched), 1U);
}

TEST(DatagramLane, CountsBadAndLongDatagrams) {
    for (const bool headroom : {false, true}) {
        LocalRig rig;
        rig.give({Bytes(0), Bytes(1), Bytes(9201), Bytes(wire::kMaxUdpPayload), Bytes(9200)}, headroom);
        EXPECT_EQ(rig.packets(PacketOutcome::malformed), 3U);
        EXPECT_EQ(rig.packets(PacketOutcome::oversize), 2U);
    }
}

TEST(DatagramLane, TakesTheLongestDatagram) {
    LaneConfig config = local_config();
    config.max_packet_size = wire::kMaxUdpPayload;
    const std::size_t length = wire::kMaxUdpPayload - 40;  // SPEAD's header, and four item pointers
    config.window.max_heap_bytes = length;
    for (const bool headroom : {false, true}) {
        LocalRig rig(config);
        const MadeHeap heap{.cnt = 5, .length = length, .packet = length};
        ASSERT_EQ(heap.datagrams()[0].size(), wire::kMaxUdpPayload);
        rig.give(heap.datagrams(), headroom);
        EXPECT_EQ(rig.take_heaps(), std::vector<std::uint64_t>{5});
        rig.give_frames({frame(MadeHeap{.cnt = 6, .length = length, .packet = length}.datagrams()[0])});
        EXPECT_EQ(rig.take_heaps(), std::vector<std::uint64_t>{6});
    }
}

TEST(DatagramLane, CutsFramesOfNoPort) {
    LocalRig rig;
    rig.give_frames({Bytes(DatagramLane::kLongestFrame), Bytes(DatagramLane::kLongestFrame + 1)});
    EXPECT_EQ(rig.packets(PortOutcome::not_udp), 2U);
    EXPECT_EQ(rig.lane.counters().bytes, 2 * DatagramLane::kLongestFrame);
}

TEST(DatagramLane, LosesNothingWhenItsConsumerIsSlow) {
    for (const bool headroom : {false, true}) {
        LaneConfig config = local_config();
        config.window.on_full = heap::FullPolicy::block;
        config.queue_heaps = 2;
        LocalRig rig(config);
        const std::vector<Bytes> all = many_datagrams(200, 2500);
        std::vector<std::uint64_t> heaps;
        std::size_t at = 0;
        int blocked = 0;
        for (int i = 0; i < 10000 && at < all.size(); i++) {
            const std::size_t n =
                rig.give({all.begin() + static_cast<std::ptrdiff_t>(at), all.end()}, headroom);
            at += n;
            if (at == all.size())
                break;
            blocked++;
            EXPECT_TRUE(rig.lane.blocked());
            for (const std::uint64_t cnt : rig.take_heaps())
                heaps.push_back(cnt);
        }
        EXPECT_GT(blocked, 10);
        for (int i = 0; i < 100 && (!rig.lane.flush() || heaps.size() < 200); i++)
            for (const std::uint64_t cnt : rig.take_heaps())
                heaps.push_back(cnt);
        EXPECT_EQ(heaps.size(), 200U);
        EXPECT_TRUE(std::is_sorted(heaps.begin(), heaps.end()));
        EXPECT_EQ(rig.packets(PacketOutcome::placed), all.size());
    }
}

TEST(DatagramLane, DoesNotWaitForRoomThatCannotCome) {
    LaneConfig config = local_config();
    config.window.on_full = heap::FullPolicy::block;
    config.window.max_live = 64;
    LocalRig rig(config, config.window.max_heap_bytes);
    // The arena has room for one such heap, and the first one never ends.
    const Bytes first = MadeHeap{.cnt = 1, .length = 64 * 1024}.datagram(0, 400, false);
    const Bytes second = MadeHeap{.cnt = 2, .length = 64 * 1024}.datagram(0, 400, false);
    EXPECT_EQ(rig.give({first, second, second}), 3U);
    // The agent knows by now that there is little room.
    EXPECT_EQ(rig.give({second, second}), 2U);
    EXPECT_EQ(rig.give({MadeHeap{.cnt = 3, .length = 64 * 1024}.datagram(0, 400, false)}), 1U);
    EXPECT_EQ(rig.packets(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.packets(PacketOutcome::no_memory), 5U);
}

TEST(DatagramLane, HandsHeapsOfUnknownLengthToAUserWhoHoldsOne) {
    LaneConfig c = local_config();
    c.window.on_full = heap::FullPolicy::block;
    c.window.guarded = true;
    c.window.lends = true;
    for (std::size_t packets = 1; packets <= 5; packets++) {
        DatagramLane lane(c, kArena / 4);
        std::vector<Bytes> all;
        for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
            for (const Bytes& d :
                 MadeHeap{.cnt = cnt, .length = 100 * packets, .packet = 100, .tells_length = false}
                     .datagrams())
                all.push_back(d);
        std::vector<Datagram> datagrams;
        for (const Bytes& d : all)
            datagrams.push_back({kLocalWay, d, false});
        heap::HeapHandle held;
        std::size_t got = 0;
        const auto take = [&] {
            // As an iteration does: the next one comes before the last one goes.
            if (heap::HeapHandle next = lane.queue().try_pop()) {
                EXPECT_EQ(next.payload().size(), 100 * packets);
                held = std::move(next);
                got++;
            }
        };
        std::size_t taken = 0;
        std::uint64_t now = 1;
        for (int i = 0; i < 2000 && taken < all.size(); i++, take())
            taken += lane.take(std::span(datagrams).subspan(taken), ++now);
        EXPECT_EQ(taken, all.size()) << packets << " packets";
        for (int i = 0; i < 200 && (!lane.flush() || got < 40); i++)
            take();
        EXPECT_EQ(got, 40U) << packets << " packets";
        EXPECT_EQ(lane.lane().counters.heaps_dropped_full, 0U) << packets << " packets";
        EXPECT_EQ(lane.lane().counters.packets[0], all.size()) << packets << " packets";
        held = {};
        lane.drop_rest();
        lane.housekeep(++now);
    }
}

TEST(DatagramLane, EndsWithAStopItem) {
    LaneConfig config = local_config();
    config.window.stop_on_stop_item = true;
    config.window.control_heaps = true;
    LocalRig rig(config);
    rig.patterned = false;
    EXPECT_FALSE(rig.lane.stopped());
    rig.give({stop_datagram(7), MadeHeap{.cnt = 8, .length = 100}.datagrams()[0]});
    EXPECT_TRUE(rig.lane.stopped());
    EXPECT_EQ(rig.packets(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.packets(PacketOutcome::stopped), 1U);
    EXPECT_EQ(rig.take_heaps(), std::vector<std::uint64_t>{7});
}

TEST(DatagramLane, ChangesItsEndpointsWhileHeapsAreLive) {
    DatagramLane lane(local_config(), kArena);
    const Endpoint first = local_config().endpoints[0];
    const Endpoint second{{first.address.v4().value + 1}, first.port, {}};
    std::uint64_t now = 1;
    const auto give = [&](const Endpoint& to, const Bytes& bytes) {
        const Datagram d{{kLocalWay.source, to.address, 5, to.port}, bytes, false};
        EXPECT_EQ(lane.take({&d, 1}, ++now), 1U);
    };
    const std::vector<Bytes> heap = MadeHeap{}.datagrams();
    give(first, heap[0]);
    give(second, heap[1]);
    EXPECT_EQ(lane.counters()[PortOutcome::unmatched], 1U);
    lane.receive(std::vector<DatagramLane::Place>{{first, 0}, {second, 1}});
    give(second, heap[1]);
    lane.receive(std::vector<DatagramLane::Place>{{second, 1}});
    give(first, heap[2]);
    EXPECT_EQ(lane.counters()[PortOutcome::unmatched], 2U);
    give(second, heap[2]);
    EXPECT_EQ(lane.lane().endpoints[0].packets, 1U);
    EXPECT_EQ(lane.lane().endpoints[1].packets, 2U);
    lane.idle(++now);
    const heap::HeapHandle whole = lane.queue().try_pop();
    ASSERT_TRUE(whole);
    EXPECT_TRUE(whole.complete());
}

TEST(DatagramLane, GivesHeapsUpAfterTheirTime) {
    LaneConfig config = local_config();
    config.window.timeout_ticks = 100;
    LocalRig rig(config);
    rig.give({MadeHeap{}.datagrams()[0]});
    rig.lane.housekeep(rig.now += 50);
    EXPECT_TRUE(rig.take_heaps().empty());
    rig.lane.housekeep(rig.now += 101);
    EXPECT_EQ(rig.take_heaps().size(), 1U);
}

TEST(DatagramLane, CopiesPastTheCacheIfHeapsRotateThroughMuchMemory) {
    constexpr std::size_t kLarge = std::size_t{1} << 20;
    constexpr std::uint64_t kLong = std::uint64_t{1} << 40;  // beyond the time between two choices
    LaneConfig config = local_config();
    config.window.max_heap_bytes = kLarge;
    config.window.max_live = 8;
    LocalRig rig(config, 32 * kLarge);
    // The first packet of a heap takes the memory of all of it.
    const auto begin_heaps = [&rig](std::uint64_t first, std::size_t length) {
        for (std::uint64_t cnt = first; cnt < first + 8; cnt++)
            rig.give({MadeHeap{.cnt = cnt, .length = length}.datagrams()[0]});
        rig.lane.housekeep(rig.now += kLong);
        return rig.lane.lane().stores;
    };
    EXPECT_EQ(begin_heaps(1, 1000), memory::Stores::cached);
    EXPECT_EQ(begin_heaps(9, kLarge), memory::Stores::streaming);
    // The large ones end with those after them, and their memory counts once more.
    for (const std::uint64_t first : {17U, 25U}) {
        rig.take_heaps();
        begin_heaps(first, 1000);
    }
    rig.take_heaps();
    EXPECT_EQ(begin_heaps(33, 1000), memory::Stores::cached);
}

/// Returns every count and heap that a way of giving the packets makes.
struct Result {
    std::vector<std::uint64_t> heaps;
    std::vector<std::string> contents;
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::uint64_t bytes = 0;
    bool operator==(const Result&) const = default;
};

TEST(DatagramLane, MakesTheSameOfDatagramsAndOfFramesWhateverComes) {
    for (unsigned seed = 1; seed <= 60; seed++) {
        Random random(seed);
        std::vector<Bytes> all;
        for (int i = 0; i < 200; i++) {
            all.push_back(any_packet(random).build());
            if (random() % 16 == 0)
                all.back()[random() % all.back().size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
            if (random() % 4 == 0)
                all.push_back(all[random() % all.size()]);
        }
        std::vector<Result> results;
        for (const int way : {0, 1, 2}) {
            LaneConfig config = local_config();
            config.window.control_heaps = seed % 2 == 0;
            LocalRig rig(config);
            rig.patterned = false;
            Result r;
            for (std::size_t at = 0; at < all.size();) {
                const std::size_t n = std::min<std::size_t>(1 + (seed * 7 + at) % 90, all.size() - at);
                std::vector<Bytes> some(all.begin() + static_cast<std::ptrdiff_t>(at),
                                        all.begin() + static_cast<std::ptrdiff_t>(at + n));
                if (way == 2)
                    for (Bytes& d : some)
                        d = frame(d);
                ASSERT_EQ(way == 2 ? rig.give_frames(some) : rig.give(some, way == 1), n);
                for (const std::uint64_t cnt : rig.take_heaps())
                    r.heaps.push_back(cnt);
                at += n;
            }
            r.contents = rig.contents;
            r.packets = rig.lane.lane().counters.packets;
            r.bytes = rig.lane.lane().counters.bytes;
            results.push_back(r);
        }
        ASSERT_EQ(results[0], results[1]) << "seed " << seed;
        ASSERT_EQ(results[0], results[2]) << "seed " << seed;
    }
}

TEST(DatagramLane, FillsChunks) {
    const chunk::Placement placement = chunk::Placement::parse(
        "heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; direct");
    for (const int way : {0, 1, 2}) {
        chunk::test::RingOfChunks chunks(4, placement.check());
        chunk::ChunkWindow window({}, chunks.ring);
        DatagramLane lane(local_config(), kArena);
        lane.fill(std::make_unique<chunk::ChunkLane>(placement, window, lane.lane().counters, false));
        std::uint64_t sent = 0;
        for (std::uint64_t time = 0; time < 24; time++)
            for (std::uint64_t sender = 0; sender < 4; sender++) {
                MadeHeap heap{.cnt = time * 4 + sender, .length = 4000, .packet = 1400};
                heap.items = {heap.flavour.make_immediate(0x1600, time * 4096),
                              heap.flavour.make_immediate(0x4101, sender)};
                for (std::size_t at = 0; at < heap.length; at += heap.packet, sent++) {
                    const Bytes d = heap.datagram(at, std::min(heap.packet, heap.length - at), true);
                    Bytes copy = way == 2 ? frame(d) : Bytes(wire::kNetHeader);
                    if (way != 2)
                        copy.insert(copy.end(), d.begin(), d.end());
                    const std::span<const std::uint8_t> all(copy);
                    const Datagram datagram{kLocalWay, all.subspan(wire::kNetHeader), way == 1};
                    ASSERT_EQ(way == 2 ? lane.take_frames({&all, 1}, sent + 1)
                                       : lane.take({&datagram, 1}, sent + 1),
                              1U);
                }
            }
        while (!lane.flush()) {
        }
        for (std::size_t o = 0; o < kPacketOutcomes; o++)
            EXPECT_EQ(lane.lane().counters.packets[o], o == 0 ? sent : 0) << kPacketOutcomeNames[o];
        std::uint64_t whole = 0;
        while (chunk::Chunk* const c = chunks.ring.take()) {
            for (std::uint64_t i = 0; i < 32; i++) {
                const auto cnt = (static_cast<std::uint64_t>(c->id) * 8 + i % 8) * 4 + i / 8;
                for (std::size_t at = 0; at < 4000; at++)
                    ASSERT_EQ(static_cast<std::uint8_t>(c->data[i * 4000 + at]),
                              heap::test::pattern(cnt, at));
                whole++;
            }
            chunks.ring.give_back(*c);
        }
        EXPECT_EQ(whole, 96U);
    }
}

}  // namespace
}  // namespace spead::recv::test
