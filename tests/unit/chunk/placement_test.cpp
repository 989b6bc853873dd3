// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/placement.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/chunk/random_placement.hpp"

namespace spead::chunk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Makes the placement of a digitiser: two polarisations, 8192 times of one heap.
Placement digitiser() {
    Placement p;
    p.heap_bytes = 5120;
    Axis pol{"pol", {}, 2, 0, false};
    pol.term.id = 0x3101;
    pol.term.mask = 1;
    Axis time{"time", {}, 8192, 0, true};
    time.term.id = 0x1600;
    time.term.step = 4096;
    p.axes = {pol, time};
    Extra saturated;
    saturated.term.id = 0x3102;
    saturated.term.shift = 32;
    p.extras = {saturated};
    return p;
}

TEST(Placement, GivesTheSizesOfADigitisersChunk) {
    const Placement p = digitiser();
    const Layout layout = p.check();
    EXPECT_EQ(layout.heaps, 2 * 8192U);
    EXPECT_EQ(layout.bytes, 2 * 8192U * 5120);
    EXPECT_EQ(layout.packets_per_heap, 1U);
    EXPECT_EQ(layout.most_parts, 10U);
    EXPECT_EQ(layout.extra_bytes, 2U);
    EXPECT_EQ(layout.present_bytes(), 2 * 8192U);
    EXPECT_THAT(p.strides(), ElementsAre(8192U * 5120, 5120U));
    EXPECT_EQ(p.time_axis(), 1U);
    EXPECT_EQ(p.time_bits(), 48U);
}

TEST(Placement, CountsPacketsAndGaps) {
    Placement p = digitiser();
    p.packet_bytes = 1024;
    p.axes[0].stride = 50'000'000;
    const Layout layout = p.check();
    EXPECT_EQ(layout.packets_per_heap, 5U);
    EXPECT_EQ(layout.most_parts, 5U);
    EXPECT_EQ(layout.bytes, 50'000'000U + 8192 * 5120);
    p.packet_bytes = 1025;
    EXPECT_EQ(p.check().packets_per_heap, 5U);
    p.packet_bytes = 5120;
    EXPECT_EQ(p.check().packets_per_heap, 1U);
}

TEST(Placement, PacksAxesAroundRowsAndStrides) {
    // A heap has 16 channels of 512 bytes; the chunk has channel, then time.
    Placement p = digitiser();
    p.heap_bytes = 16 * 512;
    p.rows = {512, 128 * 512};
    p.axes[1].count = 128;
    p.axes[1].stride = 512;
    EXPECT_THAT(p.strides(), ElementsAre(16U * 128 * 512, 512U));
    EXPECT_EQ(p.check().bytes, 2U * 16 * 128 * 512);

    // Without a stride, the times would lie behind all rows.
    p.axes[1].stride = 0;
    EXPECT_THAT(p.strides(), ElementsAre(128U * 16 * 128 * 512, 16U * 128 * 512));
    EXPECT_EQ(p.check().bytes, 255U * 16 * 128 * 512 + 15U * 128 * 512 + 512);

    // An axis packs around a gap within it.
    p.rows = {};
    p.axes[1].stride = 10000;
    EXPECT_THAT(p.strides(), ElementsAre(1'280'000U, 10000U));
}

TEST(Placement, AxesOfOnePlaceTakeNoRoom) {
    Placement p = digitiser();
    p.axes[0].count = 1;
    p.axes[0].stride = 1;
    EXPECT_EQ(p.check().bytes, 8192U * 5120);
}

TEST(Placement, KnowsTheBitsOfTheTime) {
    const struct {
        unsigned wrap, shift;
        std::uint64_t mask;
        unsigned bits;
    } cases[] = {{48, 0, ~0ULL, 48}, {48, 12, ~0ULL, 36}, {48, 0, 0x3FFFFFFFFF, 38}, {40, 0, ~0xFFFULL, 40},
                 {64, 0, ~0ULL, 64}, {64, 63, ~0ULL, 1},  {1, 0, ~0ULL, 1}};
    for (const auto& c : cases) {
        Placement p = digitiser();
        p.axes[1].term.shift = c.shift;
        p.axes[1].term.mask = c.mask;
        p.axes[1].term.step = 1;
        p.axes[p.time_axis()].count = 1;
        p.wrap_bits = c.wrap;
        p.check();
        EXPECT_EQ(p.time_bits(), c.bits) << c.wrap << " " << c.shift << " " << c.mask;
    }
}

TEST(Placement, RefusesImpossibleOnes) {
    constexpr std::uint64_t kBig = ~std::uint64_t{0};
    const struct {
        std::function<void(Placement&)> change;
        const char* message;
    } cases[] = {
        {[](Placement& p) { p.heap_bytes = 0; }, "heaps of 0 bytes is not possible; give 1 to 1099511627776"},
        {[](Placement& p) { p.heap_bytes = kBig; }, "heaps of 18446744073709551615 bytes is not possible"},
        {[](Placement& p) { p.axes.clear(); }, "has 0 axes; give 1 to 8"},
        {[](Placement& p) { p.axes.resize(9, p.axes[0]); }, "has 9 axes; give 1 to 8"},
        {[](Placement& p) { p.axes[0].name = ""; }, "cannot have the name ``"},
        {[](Placement& p) { p.axes[0].name = "1a"; }, "cannot have the name `1a`"},
        {[](Placement& p) { p.axes[0].name = "a-b"; }, "cannot have the name `a-b`"},
        {[](Placement& p) { p.axes[0].name = std::string(65, 'x'); }, "64 characters at most"},
        {[](Placement& p) { p.axes[0].name = "time"; }, "two axes of the placement have the name `time`"},
        {[](Placement& p) { p.axes[0].count = 0; }, "the axis `pol` has 0 places"},
        {[](Placement& p) { p.axes[0].stride = kBig; }, "`pol` has places 18446744073709551615 bytes apart"},
        {[](Placement& p) { p.axes[0].term.id = 0; }, "`pol` has item 0x0, which is padding"},
        {[](Placement& p) { p.axes[0].term.id = 1; }, "`pol` has item 0x1, which belongs to the packet"},
        {[](Placement& p) { p.axes[0].term.id = 4; }, "`pol` has item 0x4, which belongs to the packet"},
        {[](Placement& p) { p.axes[0].term.id = Term::kMaxId + 1; }, "which no flavour of SPEAD can express"},
        {[](Placement& p) { p.axes[0].term.kind = Term::Kind::endpoint; },
         "has an item's id, 0x3101, and no item"},
        {[](Placement& p) { p.axes[0].term.shift = 64; }, "`pol` shifts by 64 bits; give 0 to 63"},
        {[](Placement& p) { p.axes[0].term.step = 0; }, "`pol` has steps of 0; give 1 at least"},
        {[](Placement& p) { p.axes[1].term.step = 0; }, "`time` has steps of 0; give 1 at least"},
        {[](Placement& p) { p.extras[0].term.step = 0; }, "extra value 1 has steps of 0"},
        {[](Placement& p) { p.axes[0].term = {Term::Kind::constant, 0, 0, kBig, 2, 1, false, {}}; },
         "`pol` has 2 places, and the constant 2 is none of them; give 0 to 1"},
        {[](Placement& p) { p.axes[0].term = {Term::Kind::constant, 0, 1, kBig, 1, 1, false, {}}; },
         "`pol` is a constant and has a shift, mask, step or list"},
        {[](Placement& p) {
             p.axes[0].term.list = {0, 1, 2};
         },
         "`pol` has 2 places, and its list 3 values"},
        {[](Placement& p) {
             p.axes[0].term.list = {1, 1};
         },
         "`pol` has 1 twice in its list"},
        {[](Placement& p) {
             p.axes[0].term.list = {1, 2};
         },
         "`pol` has 2 in its list, and its shift and mask leave only the bits 0x1"},
        {[](Placement& p) {
             p.axes[0].term.mask = kBig;
             p.axes[0].term.shift = 60;
             p.axes[0].term.list = {1, 16};
         },
         "`pol` has 16 in its list, and its shift and mask leave only the bits 0xf"},
        {[](Placement& p) {
             p.axes[0].term.list = {0, 1};
             p.axes[0].term.step = 2;
         },
         "`pol` has a list and a subtraction or division"},
        {[](Placement& p) {
             p.axes[0].term.list = {0, 1};
             p.axes[0].term.truncate = true;
         },
         "`pol` has a list and a subtraction or division"},
        {[](Placement& p) {
             p.extras[0].term.shift = 0;
             for (std::uint64_t i = 0; i <= Placement::kMaxList; i++)
                 p.extras[0].term.list.push_back(i);
         },
         "have 4097 values or more; give at most 4096 in all"},
        {[](Placement& p) { p.axes[1].is_time = false; }, "has 0 time axes; give one"},
        {[](Placement& p) { p.axes[0].is_time = true; }, "has 2 time axes; give one"},
        {[](Placement& p) { p.axes[1].term = {Term::Kind::constant, 0, 0, kBig, 2, 1, false, {}}; },
         "the time is a constant, which does not go on"},
        {[](Placement& p) { p.axes[1].term = {Term::Kind::endpoint, 0, 0, kBig, 0, 1, false, {}}; },
         "the time is an endpoint, which does not go on"},
        {[](Placement& p) {
             p.axes[1].count = 1;
             p.axes[1].term = {Term::Kind::item, 5, 0, kBig, 0, 1, false, {7}};
         },
         "the time is a list, which does not go on"},
        {[](Placement& p) { p.wrap_bits = 0; }, "the time wraps after 0 bits; give 1 to 64"},
        {[](Placement& p) {
             p.axes[p.time_axis()].term = Term{.kind = Term::Kind::item, .id = 0x1600};
             p.axes[p.time_axis()].count = 32769;
             p.wrap_bits = 16;
         },
         "a chunk has 32769 times, and the time wraps after 65536 (2^16 / 1): the next chunk could not be "
         "told "
         "from an earlier one; give at most 32768 times, or a larger wrap"},
        {[](Placement& p) { p.wrap_bits = 65; }, "the time wraps after 65 bits; give 1 to 64"},
        {[](Placement& p) { p.axes[1].term.shift = 48; }, "the time shifts by 48 bits, and has 48"},
        {[](Placement& p) { p.axes[1].term.mask = 0; },
         "the time has the mask 0x0; give one whose bits are adjacent"},
        {[](Placement& p) { p.axes[1].term.mask = 0xF0F; },
         "the time has the mask 0xf0f; give one whose bits"},
        {[](Placement& p) {
             p.axes[1].term.mask = 0xFF00;
             p.wrap_bits = 8;
         },
         "the time has the mask 0xff00, and wraps after 8 bits; give a mask of fewer bits"},
        {[](Placement& p) { p.axes[1].term.first = 1ULL << 48; },
         "the time begins at 281474976710656, and its 48 bits hold at most 281474976710655"},
        {[](Placement& p) { p.axes[1].term.step = 1ULL << 48; }, "the time has steps of 281474976710656"},
        {[](Placement& p) { p.extras.resize(9); }, "has 9 extra values; give at most 8"},
        {[](Placement& p) { p.extras[0].bytes = 0; }, "extra value 1 has 0 bytes; give 1, 2, 4 or 8"},
        {[](Placement& p) { p.extras[0].bytes = 3; }, "extra value 1 has 3 bytes; give 1, 2, 4 or 8"},
        {[](Placement& p) { p.extras[0].bytes = 16; }, "extra value 1 has 16 bytes; give 1, 2, 4 or 8"},
        {[](Placement& p) {
             p.rows = {0, 7};
         },
         "rows of 0 bytes have the stride 7"},
        {[](Placement& p) {
             p.rows = {500, 500};
         },
         "a heap of 5120 bytes has no whole number of rows of 500 bytes: 120 are left"},
        {[](Placement& p) {
             p.rows = {512, 511};
         },
         "rows of 512 bytes are 511 bytes apart and overlap"},
        {[](Placement& p) {
             p.rows = {512, kBig};
         },
         "the rows are 18446744073709551615 bytes apart; give at most"},
        {[](Placement& p) { p.axes[1].count = 4'000'000'000; },
         "a chunk has 2 x 4000000000 heaps; give fewer"},
        {[](Placement& p) {
             p.axes[0].count = p.axes[1].count = ~0U;
             p.axes.insert(p.axes.begin(),
                           Axis{"a", {Term::Kind::heap, 0, 0, kBig, 0, 1, false, {}}, ~0U, 0, false});
         },
         "a chunk has 4294967295 x 4294967295 x 4294967295 heaps"},
        {[](Placement& p) { p.axes[1].stride = 5119; },
         "the places of the axis `time` lie 5119 bytes apart, and each takes 5120 bytes (5120); give a "
         "stride of "
         "5120 at least, or none"},
        {[](Placement& p) { p.axes[0].stride = 41943039; },
         "the places of the axis `pol` lie 41943039 bytes apart, and each takes 41943040 bytes (5120 + 8191 "
         "x "
         "5120)"},
        {[](Placement& p) { p.axes[0].stride = 5120; },
         "lie 5120 bytes apart, and each takes 41943040 bytes"},
        {[](Placement& p) {  // The rows of one time would lie in those of the next.
             p.rows = {512, 65536};
             p.axes[1].stride = 5120;
         },
         "the rows of a heap lie 65536 bytes apart, and each takes 41938432 bytes (512 + 8191 x 5120)"},
        {[](Placement& p) {  // 129 times of 512 bytes do not fit between two rows.
             p.rows = {512, 65536};
             p.axes[1].count = 129;
             p.axes[1].stride = 512;
         },
         "the rows of a heap lie 65536 bytes apart, and each takes 66048 bytes (512 + 128 x 512)"},
        {[](Placement& p) { p.axes[0].stride = Placement::kMaxBytes; },
         "a chunk has 1099553570816 bytes (5120 + 8191 x 5120 + 1 x 1099511627776)"},
        {[](Placement& p) {
             p.heap_bytes = Placement::kMaxBytes;
             p.axes[1].count = 100'000'000;
         },
         "or more); give fewer places or smaller strides"},
        {[](Placement& p) { p.packet_bytes = 5121; },
         "packets of 5121 bytes are larger than heaps of 5120 bytes"},
        {[](Placement& p) {
             p.packet_bytes = 1;
             p.axes[1].count = 1 << 20;
         },
         "the presence of a chunk has 2097152 heaps x 5120 packets"},
    };
    for (const auto& c : cases) {
        Placement p = digitiser();
        c.change(p);
        try {
            p.check("stream x");
            ADD_FAILURE() << "accepted: " << c.message;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(c.message));
            EXPECT_THAT(error.what(), testing::StartsWith("stream x: "));
        }
    }
}

TEST(Placement, AcceptsTheLimits) {
    Placement p = digitiser();
    p.axes[1].count = static_cast<std::uint32_t>(Placement::kMaxHeaps / 2);
    p.heap_bytes = Placement::kMaxBytes / Placement::kMaxHeaps;
    EXPECT_EQ(p.check().heaps, Placement::kMaxHeaps);
    EXPECT_EQ(p.check().bytes, Placement::kMaxBytes);
    p.packet_bytes = 512;
    EXPECT_EQ(p.check().present_bytes(), Placement::kMaxPresence);

    Placement one = digitiser();
    one.axes[0].count = one.axes[1].count = 1;
    one.heap_bytes = Placement::kMaxBytes;
    EXPECT_EQ(one.check().most_parts, 1U << 31);
}

TEST(Placement, ExplainsItsSums) {
    EXPECT_EQ(digitiser().explain(),
              "axes      pol: item 0x3101 & 0x1, 2 places, 41943040 bytes apart\n"
              "          time: item 0x1600 / 4096, 8192 places, 5120 bytes apart\n"
              "time      chunk id = time / 8192; the item's value wraps after 48 bits\n"
              "heaps     2 x 8192 = 16384, of 5120 bytes each\n"
              "chunk     83886080 bytes of payload\n"
              "presence  16384 heaps x 1 = 16384 bytes\n"
              "extra     16384 heaps x 2 = 32768 bytes\n");
    Placement p = digitiser();
    p.rows = {512, 8192 * 512};
    p.axes[1].stride = 512;
    p.axes[0].stride = 100'000'000;
    p.extras.clear();
    p.wrap_bits = 64;
    EXPECT_THAT(p.explain(), HasSubstr("rows      10 of 512 bytes in a heap, 4194304 bytes apart\n"));
    EXPECT_THAT(p.explain(),
                HasSubstr("chunk     141943040 bytes of payload, 83886080 of them filled by heaps\n"));
    EXPECT_THAT(p.explain(), HasSubstr("it does not wrap"));
    EXPECT_THAT(p.explain(), testing::Not(HasSubstr("extra")));
}

TEST(Placement, AcceptsRandomLayoutsAndTheirBytesAreThoseOfTheLastHeap) {
    RandomPlacement random(1);
    for (int i = 0; i < 5000; i++) {
        const Placement p = random.make(20, 40);
        const Layout layout = p.check();
        std::uint64_t last = p.rows.bytes == 0
                                 ? p.heap_bytes
                                 : (p.heap_bytes / p.rows.bytes - 1) * p.rows.stride + p.rows.bytes;
        const auto strides = p.strides();
        for (std::size_t axis = 0; axis < strides.size(); axis++)
            last += (p.axes[axis].count - 1) * strides[axis];
        EXPECT_EQ(layout.bytes, last) << p.text();
        EXPECT_FALSE(p.explain().empty());
    }
}

}  // namespace
}  // namespace spead::chunk
