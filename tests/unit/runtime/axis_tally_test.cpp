// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/axis_tally.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/runtime/chunk_rig.hpp"

namespace spead::runtime::unit_test {
namespace {

constexpr const char* kTwoAxes =
    "heap 64; axis ant: item 0x3101 [3]; axis pol: item 0x3102 [2]; "
    "time: item 0x1600 [4]";

/// Returns the heaps of a chunk of kTwoAxes without those that `lacks` likes.
template <typename Lacks>
std::vector<std::size_t> heaps_without(const Lacks& lacks) {
    std::vector<std::size_t> heaps;
    for (std::size_t heap = 0; heap < 24; heap++)
        if (!lacks(heap / 8, heap / 4 % 2, heap % 4))
            heaps.push_back(heap);
    return heaps;
}

struct TallyRig {
    ChunkRig rig{kTwoAxes};
    AxisTally tally{chunk::Placement::parse(kTwoAxes)};

    template <typename Lacks>
    void add(const Lacks& lacks, bool cut = false) {
        chunk::Chunk& chunk = rig.chunk(1, heaps_without(lacks), [](chunk::Chunk&) {});
        chunk.cut = cut;
        tally.add(chunk);
    }
};

TEST(AxisTally, MissingHeapsCountForTheirPlaceOnEachAxisButTheTime) {
    TallyRig r;
    r.add([](auto ant, auto pol, auto) { return ant == 2 && pol == 1; });
    r.add([](auto ant, auto, auto time) { return ant == 0 && time == 3; });
    const std::vector<stats::AxisPresence> axes = r.tally.tell();
    ASSERT_EQ(axes.size(), 2U);
    EXPECT_EQ(axes[0].name, "ant");
    EXPECT_EQ(axes[0].chunks, 2U);
    EXPECT_EQ(axes[0].expected(0), 16U);
    const auto missing = [&](std::size_t axis) {
        std::vector<std::uint64_t> all;
        for (const auto& e : axes[axis].entries)
            all.push_back(e.missing);
        return all;
    };
    EXPECT_EQ(missing(0), (std::vector<std::uint64_t>{2, 0, 4}));
    EXPECT_EQ(missing(1), (std::vector<std::uint64_t>{1, 5}));
    EXPECT_DOUBLE_EQ(axes[0].share(2), 0.75);
}

TEST(AxisTally, ChunksInARowWithoutAPlaceAreCountedUntilItComesBack) {
    TallyRig r;
    const auto without_pol = [](auto, auto pol, auto) { return pol == 1; };
    const auto nothing = [&r] { return r.tally.tell()[1].entries[1].nothing; };
    r.add(without_pol);
    r.add(without_pol);
    EXPECT_EQ(nothing(), 2U);
    EXPECT_EQ(r.tally.tell()[1].entries[0].nothing, 0U);
    r.add([](auto, auto, auto) { return false; });
    EXPECT_EQ(nothing(), 0U) << "a complete chunk has it";
    r.add(without_pol);
    r.add([](auto, auto pol, auto time) { return pol == 1 && time != 0; });
    EXPECT_EQ(nothing(), 0U) << "a heap is enough";
}

TEST(AxisTally, CutChunksSayNothing) {
    TallyRig r;
    r.add([](auto, auto pol, auto) { return pol == 1; }, true);
    EXPECT_EQ(r.tally.tell()[0].chunks, 0U);
    EXPECT_DOUBLE_EQ(r.tally.tell()[1].share(1), 1) << "nothing is known";
}

TEST(AxisTally, PlacesBeyondTheEntriesShareThem) {
    const chunk::Placement placement =
        chunk::Placement::parse("heap 64; axis chan: item 0x4103 [10000]; time: item 0x1600 [1]");
    const AxisTally tally(placement);
    const stats::AxisPresence axis = tally.tell().at(0);
    EXPECT_EQ(axis.width, 3U);
    ASSERT_EQ(axis.entries.size(), 3334U);
    EXPECT_LE(axis.entries.size(), stats::AxisPresence::kMostEntries);
    EXPECT_EQ(axis.past(3333) - axis.first(3333), 1U) << "the last has the rest";
}

TEST(AxisTally, LaterCountsOfTheSameChunksAreDifferences) {
    TallyRig r;
    r.add([](auto, auto pol, auto) { return pol == 1; });
    const stats::AxisPresence before = r.tally.tell()[1];
    r.add([](auto, auto, auto) { return false; });
    stats::AxisPresence since = r.tally.tell()[1];
    since.take(before);
    EXPECT_DOUBLE_EQ(since.share(1), 1);
    TallyRig other;
    stats::AxisPresence others = other.tally.tell()[1];
    others.chunks = 5;
    others.take(before);
    EXPECT_EQ(others.chunks, 5U) << "other chunks have begun anew";
}

}  // namespace
}  // namespace spead::runtime::unit_test
