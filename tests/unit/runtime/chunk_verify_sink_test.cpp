// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_verify_sink.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/verify_sequence.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::refusal;
using testing::HasSubstr;

/// Fills every heap with the verification sequence of its heap count.
void sequence(chunk::Chunk& chunk) {
    for (std::size_t heap = 0; heap < 4; heap++) {
        const std::uint64_t cnt = 1 + static_cast<std::uint64_t>(chunk.id) * 4 + heap;
        verify_generate(chunk.data.subspan(heap * 64, 64), verify_heap_start(cnt, 16));
    }
}

void give(ChunkVerifySink& sink, const chunk::Chunk& chunk) {
    sink.consume_chunk(chunk);
    sink.show_compared();
}

TEST(ChunkVerifySink, ComparesHeapsOfTheSequenceByTheirCount) {
    const std::string placement = "heap 64; time: heap - 1 [4]";
    ChunkRig rig(placement);
    ChunkVerifySink sink("s0", chunk::Placement::parse(placement));
    give(sink, rig.chunk(5, {0, 1, 3}, sequence));
    EXPECT_EQ(sink.verified(), 3U) << "heaps that are not there are not looked at";
    EXPECT_EQ(sink.wrong(), 0U);
    give(sink, rig.chunk(6, {0, 1, 2, 3}, [](chunk::Chunk& chunk) {
        sequence(chunk);
        chunk.data[2 * 64 + 63] ^= std::byte{1};
    }));
    EXPECT_EQ(sink.verified(), 6U);
    EXPECT_EQ(sink.wrong(), 1U);
    give(sink, rig.chunk(7, {0, 1, 2, 3}, [](chunk::Chunk& chunk) {
        sequence(chunk);
        chunk.id = 8;  // every heap is in the chunk before its own
    }));
    EXPECT_EQ(sink.wrong(), 5U);
}

constexpr const char* kDigitisers =
    "heap 1024; axis antenna: item 0x3101 >> 2 [2]; axis pol: item 0x3101 & 1 [2]; "
    "time: item 0x1600 / 4096 [4]";

/// Fills the heaps of two antennas with those of the pattern.
void digitisers(chunk::Chunk& chunk) {
    for (std::uint32_t sender = 0; sender < 4; sender++)
        for (std::uint64_t place = 0; place < 4; place++)
            pattern_generate(chunk.data.subspan((sender * 4 + place) * 1024, 1024), HeapPattern::p1,
                             {static_cast<std::uint64_t>(chunk.id) * 4 + place, 0, sender});
}

std::vector<std::size_t> all_sixteen() {
    std::vector<std::size_t> heaps(16);
    for (std::size_t i = 0; i < heaps.size(); i++)
        heaps[i] = i;
    return heaps;
}

TEST(ChunkVerifySink, ComparesHeapsOfAPatternWithTheirPlace) {
    ASSERT_EQ(shape_of(HeapPattern::p1).time_step, 4096U);
    ChunkRig rig(kDigitisers);
    ChunkVerifySink sink("s0", chunk::Placement::parse(kDigitisers));
    give(sink, rig.chunk(3, all_sixteen(), digitisers));
    EXPECT_EQ(sink.verified(), 16U);
    EXPECT_EQ(sink.wrong(), 0U);
    give(sink, rig.chunk(4, all_sixteen(), [](chunk::Chunk& chunk) {
        digitisers(chunk);
        std::swap_ranges(chunk.data.begin(), chunk.data.begin() + 1024, chunk.data.begin() + 4 * 1024);
        chunk.data[15 * 1024 + 1023] ^= std::byte{8};
    }));
    EXPECT_EQ(sink.verified(), 16U + 13U);
    EXPECT_EQ(sink.wrong(), 3U) << "two heaps of the other polarisation, and one wrong byte";
}

TEST(ChunkVerifySink, JoinsTheRowsOfAHeap) {
    const std::string placement = "heap 1024; time: item 0x1600 / 4096 [2] by 256; rows 256 by 512";
    ChunkRig rig(placement);
    ChunkVerifySink sink("s0", chunk::Placement::parse(placement));
    give(sink, rig.chunk(0, {0, 1}, [](chunk::Chunk& chunk) {
        for (std::uint64_t time = 0; time < 2; time++) {
            std::array<std::byte, 1024> heap;
            pattern_generate(heap, HeapPattern::p1, {time, 0, 0});
            for (std::size_t row = 0; row < 4; row++)
                std::copy_n(&heap[row * 256], 256, &chunk.data[row * 512 + time * 256]);
        }
    }));
    EXPECT_EQ(sink.verified(), 2U);
    EXPECT_EQ(sink.wrong(), 0U);
}

TEST(ChunkVerifySink, PayloadWithoutANameIsWrong) {
    ChunkRig rig(kDigitisers);
    ChunkVerifySink sink("s0", chunk::Placement::parse(kDigitisers));
    give(sink, rig.chunk(0, {5}, [](chunk::Chunk&) {}));
    EXPECT_EQ(sink.wrong(), 1U);
}

TEST(ChunkVerifySink, RefusesPlacementsThatDoNotTellTheHeapCount) {
    for (const char* placement : {"heap 64; axis a: heap & 1 [2]; time: item 0x1600 [4]",
                                  "heap 64; time: heap >> 1 [4]", "heap 64; time: heap // 2 [4]"})
        EXPECT_THAT(refusal([&] { const ChunkVerifySink sink("s0", chunk::Placement::parse(placement)); }),
                    HasSubstr("cannot tell heap counts"))
            << placement;
}

}  // namespace
}  // namespace spead::runtime::unit_test
