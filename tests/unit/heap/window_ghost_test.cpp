// SPDX-License-Identifier: BSD-3-Clause
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"
#include "tests/support/sanitized.hpp"

/// Tests packets with forged heap counts (ghosts) among the packets of good heaps. Every good heap comes
/// through, for any claim of a ghost. Every ghost is counted.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

constexpr std::uint32_t kGoodSource = 0x0a000001;
constexpr std::uint32_t kBadSource = 0x0a0000bd;

/// Returns the program's defaults.
WindowConfig guarded() {
    WindowConfig c;
    c.guarded = true;
    c.history_ticks = 1'000'000;
    return c;
}

/// Describes the traffic of a test, and the sizes. The program has 512 MiB by default; this arena is only as
/// large as the test needs.
struct Scene {
    WindowConfig window = guarded();
    RigSizes sizes{.arena = 64 * kMiB, .queue_heaps = 256, .largest = 8 * kMiB};
    std::uint64_t heaps = spead::test::cases(2000);
    std::uint64_t packets = 12;
    std::uint64_t payload = 40;
    std::size_t in_flight = 1;  ///< good heaps whose packets take turns
    double ghosts_per_packet = 1;
    bool regular = false;  ///< as many after each packet, rather than at random
    std::uint32_t ghost_source = kBadSource;
    /// Makes the packets of a ghost that begins right after this good packet.
    std::function<std::vector<Packet>(std::mt19937_64&, const Packet&)> ghost;
    std::size_t batch = 1;       ///< packets between commits, with one time of arrival
    std::uint64_t may_lose = 0;  ///< good heaps
};

struct Outcome {
    std::uint64_t good = 0;    ///< complete good heaps, every byte right
    std::uint64_t others = 0;  ///< other heaps that were delivered
    std::vector<std::uint64_t> order;
};

/// Plays a sender, a forger and a consumer. The consumer takes the heaps after each batch.
class Haunted {
  public:
    Haunted(const Scene& scene, std::uint64_t seed)
        : s_(scene), random_(seed), rig_(scene.window, scene.sizes) {}

    Outcome run() {
        std::vector<std::uint64_t> open;
        std::map<std::uint64_t, std::uint64_t> sent;
        std::uint64_t next = 1;
        std::size_t turn = 0;
        while (next <= s_.heaps || !open.empty()) {
            while (open.size() < s_.in_flight && next <= s_.heaps)
                open.push_back(next++);
            turn = turn % open.size();
            const std::uint64_t key = open[turn];
            const std::uint64_t at = sent[key]++;
            const Packet p =
                Packet(key).of(s_.packets * s_.payload).at(at * s_.payload, s_.payload).from(kGoodSource);
            // A forger that knows the stream may be there before the heap's first packet.
            const std::size_t ghosts = forged();
            const std::size_t before = random_() % (ghosts + 1);
            haunt(p, before);
            give(p);
            haunt(p, ghosts - before);
            if (sent[key] == s_.packets) {
                open.erase(open.begin() + static_cast<std::ptrdiff_t>(turn));
                sent.erase(key);
            } else {
                turn++;
            }
        }
        end_batch();
        return outcome_;
    }

    Rig& rig() { return rig_; }
    std::uint64_t given = 0;

  private:
    std::size_t forged() {
        if (s_.regular)
            return static_cast<std::size_t>(s_.ghosts_per_packet);
        // Geometric: any number of ghosts can come in a row.
        std::size_t n = 0;
        while (std::bernoulli_distribution(s_.ghosts_per_packet / (1 + s_.ghosts_per_packet))(random_))
            n++;
        return n;
    }
    void haunt(const Packet& p, std::size_t ghosts) {
        for (std::size_t i = 0; i < ghosts; i++)
            for (Packet& g : s_.ghost(random_, p)) {
                pending_.push_back(g.from(s_.ghost_source));
                // Packets of a ghost come some time apart.
                if (pending_.size() > 3 || random_() % 2 == 0) {
                    give(pending_.front());
                    pending_.erase(pending_.begin());
                }
            }
    }
    /// Gives a packet to the window as the rig does. The identities are not checked after each step.
    void give(Packet p) {
        given++;
        p.time(now_);
        const PacketView v = p.view();
        Record* r = rig_.window().accept_next(v);
        if (r == nullptr) {
            const auto a = rig_.window().accept(v);
            r = a.record;
        }
        if (r != nullptr && !p.payload().empty())
            copies_.emplace_back(r, std::move(p));
        if (++batched_ == s_.batch)
            end_batch();
    }
    void end_batch() {
        for (const auto& [record, p] : copies_)
            std::memcpy(record->base + p.view().offset, p.payload().data(), p.payload().size());
        rig_.window().commit();
        copies_.clear();
        rig_.window().hand_over(now_);
        take();
        if (now_++ % 256 == 0)
            rig_.check();
        batched_ = 0;
    }
    void take() {
        while (const HeapHandle h = rig_.pop()) {
            if (h.cnt() <= s_.heaps && h.complete() && h.payload().size() == s_.packets * s_.payload &&
                h.flavour() == 40) {
                ASSERT_TRUE(holds_pattern(h));
                outcome_.good++;
                outcome_.order.push_back(h.cnt());
            } else {
                outcome_.others++;
            }
        }
    }

    Scene s_;
    std::mt19937_64 random_;
    Rig rig_;
    Outcome outcome_;
    std::vector<Packet> pending_;
    std::vector<std::pair<Record*, Packet>> copies_;
    std::uint64_t now_ = 1;
    std::size_t batched_ = 0;
};

std::uint64_t any_count(std::mt19937_64& random) {
    return (std::uint64_t{1} << 39) + (random() >> 26);
}

/// Forges one packet with any count. The functions below forge other packets.
std::vector<Packet> one_packet(std::mt19937_64& random, const Packet& p) {
    return {Packet(any_count(random)).of(p.view().heap_length).at(p.view().offset, p.payload().size())};
}
std::vector<Packet> one_packet_of_any_length(std::mt19937_64& random, const Packet& p) {
    const std::uint64_t length = std::uint64_t{1} << (10 + random() % 14);
    const std::uint64_t n = p.payload().size();
    return {Packet(any_count(random)).of(length).at(random() % 2 == 0 ? 0 : length - n, n)};
}
std::vector<Packet> one_packet_of_the_largest_length(std::mt19937_64& random, const Packet&) {
    return {Packet(any_count(random)).of(8 * kMiB).at(8 * kMiB - 40, 40)};
}
std::vector<Packet> one_packet_without_length(std::mt19937_64& random, const Packet& p) {
    return {Packet(any_count(random)).at(p.view().offset, p.payload().size())};
}
std::vector<Packet> two_packets(std::mt19937_64& random, const Packet& p) {
    const std::uint64_t key = any_count(random);
    const std::uint64_t length = std::max<std::uint64_t>(p.view().heap_length, 200);
    return {Packet(key).of(length).at(0, 40), Packet(key).of(length).at(80, 40)};
}
std::vector<Packet> four_packets(std::mt19937_64& random, const Packet& p) {
    const std::uint64_t key = any_count(random);
    std::vector<Packet> all;
    const std::uint64_t length = std::max<std::uint64_t>(p.view().heap_length, 400);
    for (std::uint64_t at = 0; at < 320; at += 80)
        all.push_back(Packet(key).of(length).at(at, 40));
    return all;
}
std::vector<Packet> whole_heap(std::mt19937_64& random, const Packet&) {
    return {Packet(any_count(random)).whole(30)};
}
/// Forges the good heap's count, or one of the next ones, with another length or flavour.
std::vector<Packet> count_in_use(std::mt19937_64& random, const Packet& p) {
    Packet g(p.key() + random() % 3);
    const std::uint64_t length = 2 * p.view().heap_length + random() % 100'000;
    g.of(length).at(random() % p.view().heap_length, 40, 7);
    if (random() % 4 == 0)
        g.of(p.view().heap_length).at(0, p.payload().size(), 7).flavour(48);
    return {g};
}
/// Forges one of the next counts. The heap is complete at once.
std::vector<Packet> whole_heap_with_a_count_to_come(std::mt19937_64& random, const Packet& p) {
    return {Packet(p.key() + 1 + random() % 50).whole(30)};
}
/// Forges a later count, with the right length. The bytes are the heap's.
std::vector<Packet> count_to_come(std::mt19937_64& random, const Packet& p) {
    return {Packet(p.key() + 100 + random() % 400).of(p.view().heap_length).at(0, p.payload().size())};
}

struct Forger {
    const char* name;
    std::vector<Packet> (*ghost)(std::mt19937_64&, const Packet&);
};
const Forger kForgers[] = {
    {"one packet", one_packet},
    {"one packet of any length", one_packet_of_any_length},
    {"one packet of the largest length", one_packet_of_the_largest_length},
    {"one packet without a length", one_packet_without_length},
    {"two packets", two_packets},
    {"four packets", four_packets},
    {"a whole heap", whole_heap},
    {"a count in use", count_in_use},
    {"a whole heap with a count to come", whole_heap_with_a_count_to_come},
    {"a count to come", count_to_come},
};

void expect_all(const Scene& scene, std::uint64_t seed, const std::string& what) {
    SCOPED_TRACE(what);
    Haunted haunted(scene, seed);
    const Outcome o = haunted.run();
    EXPECT_GE(o.good, scene.heaps - scene.may_lose);
    EXPECT_LE(o.good, scene.heaps);
    // A heap of one packet whose count comes too early, with its bytes, is the heap.
    const bool may_be_early = scene.in_flight > 1 || scene.packets == 1;
    EXPECT_TRUE(may_be_early || std::is_sorted(o.order.begin(), o.order.end()));
    const stats::StreamCounters& c = haunted.rig().counters;
    std::uint64_t packets = 0;
    for (const std::uint64_t n : c.packets)
        packets += n;
    EXPECT_EQ(packets, haunted.given);
    EXPECT_LE(c.heaps_ghosts, c.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]);
    EXPECT_LE(c.heaps_dropped_ghosts, c.heaps_dropped_full);
    EXPECT_EQ(c.heaps_dropped_full, c.heaps_dropped_ghosts) << "nothing but ghosts was dropped";
}

TEST(Ghosts, OneForEachGoodPacketKeepNoGoodHeapAway) {
    for (const Forger& forger : kForgers)
        for (const bool regular : {true, false})
            for (const std::size_t batch : {1U, 64U}) {
                Scene scene;
                scene.ghost = forger.ghost;
                scene.regular = regular;
                scene.batch = batch;
                expect_all(scene, 5,
                           std::string(forger.name) + (regular ? ", regular" : ", random") + ", batches of " +
                               std::to_string(batch));
            }
}

TEST(Ghosts, FromTheGoodSendersAddressKeepNoGoodHeapAway) {
    for (const Forger& forger : kForgers) {
        Scene scene;
        scene.ghost = forger.ghost;
        scene.ghost_source = kGoodSource;
        expect_all(scene, 6, forger.name);
    }
}

TEST(Ghosts, KeepNoGoodHeapAwayWhateverTheWindow) {
    for (const Forger& forger : kForgers)
        for (const auto& [live, substreams] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                 {1, 1}, {2, 1}, {16, 1}, {64, 1}, {4, 8}, {2, 64}}) {
            Scene scene;
            scene.heaps = spead::test::cases(500);
            scene.window.max_live = live;
            scene.window.substreams = substreams;
            scene.ghost = forger.ghost;
            expect_all(scene, 7, fmt::format("{}, {} x {}", forger.name, live, substreams));
        }
}

TEST(Ghosts, KeepNoGoodHeapAwayThatTakesTurnsWithOthers) {
    for (const Forger& forger : kForgers)
        for (const std::size_t in_flight : {2U, 4U}) {
            Scene scene;
            scene.heaps = spead::test::cases(1000);
            scene.in_flight = in_flight;
            scene.ghost = forger.ghost;
            expect_all(scene, 8, fmt::format("{}, {} in flight", forger.name, in_flight));
        }
}

TEST(Ghosts, KeepNoHeapOfOnePacketAway) {
    for (const Forger& forger : kForgers)
        for (const double ghosts : {1.0, 8.0}) {
            Scene scene;
            scene.packets = 1;
            scene.ghosts_per_packet = ghosts;
            scene.ghost = forger.ghost;
            expect_all(scene, 9, fmt::format("{}, {}", forger.name, ghosts));
        }
}

TEST(Ghosts, KeepNoHeapOfTwoOrThreePacketsAway) {
    for (const Forger& forger : kForgers)
        for (const std::uint64_t packets : {2U, 3U}) {
            Scene scene;
            scene.packets = packets;
            scene.ghost = forger.ghost;
            expect_all(scene, 10, fmt::format("{}, {} packets", forger.name, packets));
        }
}

/// Tests many ghosts. Before enough of them have passed, a ghost looks like the first packets of a heap.
TEST(Ghosts, FiveForEachGoodPacketKeepFewGoodHeapsAway) {
    for (const Forger& forger : kForgers) {
        Scene scene;
        scene.heaps = 400;
        scene.packets = 40;
        scene.ghosts_per_packet = 5;
        scene.regular = true;
        scene.may_lose = 4;
        scene.ghost = forger.ghost;
        expect_all(scene, 11, forger.name);
    }
}

/// Gives some packets of each of many heaps, of 10 bytes and a last one of `rest`. Of every fifth one it
/// gives the last packet alone, and of every tenth one all. Returns the ghosts.
std::uint64_t ghosts_of(std::uint64_t packets, const std::vector<std::uint64_t>& given,
                        std::uint64_t rest = 10) {
    WindowConfig c = small_window();
    c.guarded = true;
    Rig rig(c);
    const std::uint64_t length = (packets - 1) * 10 + rest;
    for (std::uint64_t key = 1; key <= 100; key++) {
        for (std::uint64_t i = 0; i < packets; i++) {
            const bool last = i + 1 == packets;
            const bool comes = key % 10 == 0  ? true
                               : key % 5 == 0 ? last
                                              : std::find(given.begin(), given.end(), i) != given.end();
            if (comes)
                rig.give(Packet(key).of(length).at(i * 10, last ? rest : 10).time(key));
        }
        while (rig.pop()) {
        }
    }
    return rig.counters.heaps_ghosts;
}

TEST(WindowGhosts, AHeapOfWhichAQuarterCameHasLostTheOthers) {
    EXPECT_EQ(ghosts_of(4, {0, 2}), 0U);
    EXPECT_EQ(ghosts_of(4, {1}), 0U);
    EXPECT_EQ(ghosts_of(4, {1}, 1), 0U) << "the last packet is short";
    EXPECT_GT(ghosts_of(5, {0}), 20U);
    EXPECT_GT(ghosts_of(9, {0, 5}), 20U);
}

TEST(WindowGhosts, AHeapThatIsCompletedByThePacketThatProvesItEndsOnce) {
    WindowConfig c = small_window();
    c.guarded = true;
    c.max_live = 1;
    Rig rig(c);
    const auto part = [](std::uint64_t key, std::uint64_t packets, std::uint64_t i) {
        return Packet(key).of(packets * 10).at(i * 10, 10).time(key + i);
    };
    for (std::uint64_t i = 0; i < 20; i++)
        EXPECT_EQ(rig.give(part(1, 30, i)), placed);
    EXPECT_EQ(rig.give(part(2, 10, 0)), placed);
    for (std::uint64_t i = 0; i < 5; i++)
        EXPECT_EQ(rig.give(part(3, 30, i)), placed);
    EXPECT_EQ(rig.counters.heaps_live, 3U) << "the third one proves nothing against the first";
    // The last packet of the second one proves it against the first, and the third is a proof against it.
    for (std::uint64_t i = 1; i < 10; i++)
        EXPECT_EQ(rig.give(part(2, 10, i)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
    EXPECT_EQ(rig.counters.heaps_live, 1U);
}

}  // namespace
}  // namespace spead::heap::test
