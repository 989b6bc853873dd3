// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"
#include "tests/support/sanitized.hpp"

/// Tests windows whose packets come twice, by two paths.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

WindowConfig two_paths() {
    WindowConfig c = small_window();
    c.redundant = true;
    return c;
}

TEST(WindowPaths, WhatBringsNothingNewIsRedundantWhateverBroughtItBefore) {
    Rig rig(two_paths());
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), redundant) << "of an open heap";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), redundant) << "behind a hole";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), redundant) << "of a complete heap";
    EXPECT_EQ(rig.give(Packet(2).whole(100)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), redundant) << "a heap of one packet";
    EXPECT_EQ(rig.packets(duplicate), 0U);
    EXPECT_EQ(rig.queued(), 2U);
}

TEST(WindowPaths, AGivenUpHeapIsLateForBoth) {
    WindowConfig c = two_paths();
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), late);
}

/// Gives a packet of a path at its time.
struct Arrival {
    std::uint64_t at;
    std::uint64_t heap;
    std::uint64_t offset;
    bool second;
    bool operator<(const Arrival& other) const { return at < other.at; }
};

/// Sends heaps of random sizes by two paths, which lose and delay packets for themselves. Every heap arrives
/// once, whole if the paths brought all of it together, and every packet has the one right count.
void run(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr std::uint64_t kPart = 100;
    constexpr std::uint64_t kHeaps = 300;
    WindowConfig c = two_paths();
    const std::uint64_t skew = random() % 200;  // in packets
    c.max_live = static_cast<std::uint32_t>(skew + 16);
    c.guarded = random() % 2 == 0;
    RigSizes sizes;
    sizes.queue_heaps = kHeaps;
    Rig rig(c, sizes);
    std::vector<Arrival> arrivals;
    std::map<std::uint64_t, std::uint64_t> parts;
    std::map<std::uint64_t, std::set<std::uint64_t>> brought;  // by any path
    std::array<std::uint64_t, 2> sent{};
    std::uint64_t time = 0;
    for (std::uint64_t heap = 1; heap <= kHeaps; heap++) {
        parts[heap] = 1 + random() % 5;
        for (std::uint64_t part = 0; part < parts[heap]; part++, time += 2)
            for (const bool second : {false, true}) {
                if (random() % 100 < 10)
                    continue;
                // Some come out of order, too.
                arrivals.push_back(
                    {time + (second ? 2 * skew : 0) + random() % 8, heap, part * kPart, second});
                brought[heap].insert(part);
                sent[second ? 1 : 0]++;
            }
    }
    std::stable_sort(arrivals.begin(), arrivals.end());
    std::set<std::uint64_t> seen;
    const auto take = [&](Rig& from) {
        while (const HeapHandle h = from.pop()) {
            EXPECT_TRUE(seen.insert(h.cnt()).second) << "heap " << h.cnt() << " came twice";
            EXPECT_EQ(h.complete(), brought[h.cnt()].size() == parts[h.cnt()]) << h.cnt();
            EXPECT_EQ(h.received(), brought[h.cnt()].size() * kPart);
            EXPECT_TRUE(!h.complete() || holds_pattern(h));
        }
    };
    for (const Arrival& a : arrivals) {
        const PacketOutcome o = rig.give(Packet(a.heap).of(parts[a.heap] * kPart).at(a.offset, kPart));
        ASSERT_TRUE(o == placed || o == redundant)
            << name_of(o) << " of heap " << a.heap << ", seed " << seed;
        take(rig);
    }
    std::uint64_t unique = 0;
    for (const auto& [heap, some] : brought)
        unique += some.size();
    EXPECT_EQ(rig.packets(placed), unique);
    EXPECT_EQ(rig.packets(redundant), sent[0] + sent[1] - unique);
    rig.flush();
    take(rig);
    EXPECT_EQ(seen.size(), brought.size());
}

TEST(WindowPaths, WhatEitherBringsArrivesOnceWithLossAndSkewOnBoth) {
    for (std::uint64_t seed = 1; seed <= (spead::test::kSanitized ? 20U : 200U); seed++)
        ASSERT_NO_FATAL_FAILURE(run(seed)) << "seed " << seed;
}

}  // namespace
}  // namespace spead::heap::test
