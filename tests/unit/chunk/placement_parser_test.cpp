// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "chunk/placement.hpp"
#include "tests/unit/chunk/random_placement.hpp"

namespace spead::chunk {
namespace {

using testing::ElementsAre;

Axis axis_of(const std::string& text) {
    return Placement::parse("heap 8; " + text + "; time: item 0x1600 [1]").axes.front();
}

TEST(PlacementParser, ReadsADigitisersPlacement) {
    const Placement p = Placement::parse(
        "heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [8192]; extra u16: item 0x3102 "
        ">> 32; "
        "presence packet 1024");
    EXPECT_EQ(p.heap_bytes, 5120U);
    ASSERT_EQ(p.axes.size(), 2U);
    EXPECT_EQ(p.axes[0], (Axis{"pol", {Term::Kind::item, 0x3101, 0, 1, 0, 1, false, {}}, 2, 0, false}));
    EXPECT_EQ(p.axes[1],
              (Axis{"time", {Term::Kind::item, 0x1600, 0, ~0ULL, 0, 4096, false, {}}, 8192, 0, true}));
    EXPECT_EQ(p.extras, (std::vector<Extra>{{2, {Term::Kind::item, 0x3102, 32, ~0ULL, 0, 1, false, {}}}}));
    EXPECT_EQ(p.packet_bytes, 1024U);
    EXPECT_EQ(p.rows, Rows{});
    EXPECT_EQ(p.way, Way::automatic);
    EXPECT_EQ(p.wrap_bits, 48U);
}

TEST(PlacementParser, ReadsEveryTerm) {
    const Axis all = axis_of("axis x: item 4099>>3&0xff-7//5[12]by 4096");
    EXPECT_EQ(all, (Axis{"x", {Term::Kind::item, 4099, 3, 0xFF, 7, 5, true, {}}, 12, 4096, false}));
    EXPECT_EQ(axis_of("axis x: heap [3]").term.kind, Term::Kind::heap);
    EXPECT_EQ(axis_of("axis x: endpoint // 8 [2]").term,
              (Term{Term::Kind::endpoint, 0, 0, ~0ULL, 0, 8, true, {}}));
    EXPECT_EQ(axis_of("axis x: constant 2 [3]").term,
              (Term{Term::Kind::constant, 0, 0, ~0ULL, 2, 1, false, {}}));
    const Axis list = axis_of("axis x: item 9 & 0xfff {256, 0, 512}");
    EXPECT_THAT(list.term.list, ElementsAre(256U, 0U, 512U));
    EXPECT_EQ(list.count, 3U);
    EXPECT_EQ(axis_of("axis x: item 9 {256,0}[2] by 100").stride, 100U);
}

TEST(PlacementParser, ReadsEveryStatement) {
    const Placement p = Placement::parse(
        "wrap 38;\n\trows 512 by 65536; direct; presence heap; time batch: heap [128] by 512; heap "
        "8192;\r\n");
    EXPECT_EQ(p.wrap_bits, 38U);
    EXPECT_EQ(p.rows, (Rows{512, 65536}));
    EXPECT_EQ(p.way, Way::direct);
    EXPECT_EQ(p.packet_bytes, 0U);
    EXPECT_EQ(p.axes[0].name, "batch");
    EXPECT_TRUE(p.axes[0].is_time);
    EXPECT_EQ(Placement::parse("heap 1; time: heap [1]; tracked").way, Way::tracked);
    EXPECT_EQ(Placement::parse("heap 1; time: heap [1]; automatic").way, Way::automatic);
}

TEST(PlacementParser, SaysWhereTheTextIsWrong) {
    const struct {
        const char* text;
        const char* message;
    } cases[] = {
        {"", "the placement has the end at character 1; give the bytes of a heap, as in heap 5120"},
        {"time: heap [1]",
         "the placement has the end at character 15; give the bytes of a heap, as in heap 5120"},
        {"heep 5",
         "the placement has `heep` at character 1 (did you mean `heap`?); give heap, axis, time, extra, "
         "rows, "
         "presence, direct, tracked, automatic or wrap"},
        {"heap", "the placement has the end at character 5; give the bytes of a heap, as in heap 5120"},
        {"heap x", "the placement has `x` at character 6; give the bytes of a heap, as in heap 5120"},
        {"heap 0",
         "the placement has `0` at character 6, too little; give the bytes of a heap, as in heap 5120"},
        {"heap 99999999999999999999",
         "the placement has `99999999999999999999` at character 6, more than 64 bits hold; give the bytes of "
         "a heap, "
         "as in heap 5120"},
        {"heap 5 axis", "the placement has `axis` at character 8; give `;` or the end"},
        {"heap 5;; wrap 1",
         "the placement has `;` at character 8; give heap, axis, time, extra, rows, presence, direct, "
         "tracked, automatic or wrap"},
        {"heap 5; heap 6",
         "the placement has `heap` at character 9, for the second time; give each statement but "
         "`axis` and `extra` once"},
        {"direct; tracked", "the placement has two of `direct`, `tracked` and `automatic`; give one"},
        {"axis",
         "the placement has the end at character 5; give the axis's name, as in axis pol: item 0x3101 & 1 "
         "[2]"},
        {"axis 2a: heap",
         "the placement has `2a` at character 6; give the axis's name, as in axis pol: item 0x3101 & 1 [2]"},
        {"axis a b", "the placement has `b` at character 8; give `:`"},
        {"axis a: itm",
         "the placement has `itm` at character 9 (did you mean `item`?); give item, heap, endpoint or "
         "constant"},
        {"axis a: item", "the placement has the end at character 13; give the item's id, as in item 0x1600"},
        {"axis a: item 3 [2]",
         "the placement has item 0x3 at character 14, which is no item of a heap; give `heap` for "
         "the heap count, or an id from 0x5 to 0x7fffffffffffff"},
        {"axis a: item 0x80000000000000",
         "the placement has item 0x80000000000000 at character 14, which is no item of a heap"},
        {"axis a: item 5",
         "the placement has the end at character 15; give `>>`, `&`, `-`, `/`, `//`, `{` or `[` and "
         "the number of places, as in [2]"},
        {"axis a: item 5 >> 64",
         "the placement has `64` at character 19, too much; give a shift of 0 to 63 bits, as in "
         "item 0x3102 >> 32"},
        {"axis a: item 5 >> 1 >> 2",
         "the placement has `>>` at character 21; give `&`, `-`, `/`, `//`, `{` or `[` and "
         "the number of places, as in [2]"},
        {"axis a: item 5 & 1 >> 2",
         "the placement has `>>` at character 20; give `-`, `/`, `//`, `{` or `[`"},
        {"axis a: item 5 & x", "the placement has `x` at character 18; give a mask, as in item 0x3101 & 1"},
        {"axis a: item 5 - 1 & 2",
         "the placement has `&` at character 20; give `/`, `//` or `[` and the number"},
        {"axis a: item 5 - [",
         "the placement has `[` at character 18; give the value of the first place, as in item "
         "0x4103 - 256"},
        {"axis a: item 5 / 0 [2]",
         "the placement has `0` at character 18, too little; give the value from one place to "
         "the next, as in item 0x1600 / 4096"},
        {"axis a: item 5 // 2 & 7",
         "the placement has `&` at character 21; give `[` and the number of places, as in [2]"},
        {"axis a: item 5 - 1 {2}", "the placement has `{` at character 20; give `/`, `//` or `[`"},
        {"axis a: item 5 {}", "the placement has `}` at character 17; give a value, as in {0, 256, 512}"},
        {"axis a: item 5 {1 2}", "the placement has `2` at character 19; give `,` or `}`"},
        {"axis a: constant",
         "the placement has the end at character 17; give the constant, as in constant 1"},
        {"axis a: constant 1 / 2",
         "the placement has `/` at character 20; give `[` and the number of places, as in [2]"},
        {"axis a: heap [0]",
         "the placement has `0` at character 15, too little; give the number of places, as in [2]"},
        {"axis a: heap [4294967296]",
         "the placement has `4294967296` at character 15, too much; give the number of "
         "places, as in [2]"},
        {"axis a: heap [2", "the placement has the end at character 16; give `]`"},
        {"axis a: heap [2] by",
         "the placement has the end at character 20; give the bytes from one place to the next, "
         "as in by 5120"},
        {"axis a: heap [2] by 0", "the placement has `0` at character 21, too little; give the bytes"},
        {"time 5: heap",
         "the placement has `5` at character 6; give `:` or the time's name, as in time: item 0x1600 "
         "[8192]"},
        {"extra", "the placement has the end at character 6; give u8, u16, u32 or u64"},
        {"extra u15: heap",
         "the placement has `u15` at character 7 (did you mean `u16`?); give u8, u16, u32 or u64"},
        {"extra u16 heap", "the placement has `heap` at character 11; give `:`"},
        {"extra u16: heap [2]",
         "the placement has `[` at character 17; give `>>`, `&`, `-`, `/`, `//`, `{` or `;` or "
         "the end"},
        {"rows 512", "the placement has the end at character 9; give `by`"},
        {"rows by",
         "the placement has `by` at character 6; give the bytes of a row, as in rows 512 by 65536"},
        {"rows 5 by 0",
         "the placement has `0` at character 11, too little; give the bytes from one row to the next"},
        {"presence", "the placement has the end at character 9; give packet or heap"},
        {"presence packet 0",
         "the placement has `0` at character 17, too little; give the payload bytes of a packet"},
        {"presence packet 4294967296", "the placement has `4294967296` at character 17, too much"},
        {"wrap 0", "the placement has `0` at character 6, too little; give 1 to 64 bits, as in wrap 48"},
        {"wrap 65", "the placement has `65` at character 6, too much; give 1 to 64 bits, as in wrap 48"},
        {"wrap \x01\xff", "the placement has `\\x01` at character 6; give 1 to 64 bits"},
        {"heap 5; time: heap [4] by 4", "the places of the axis `time` lie 4 bytes apart"},
        {"heap 5; axis a: heap [4]", "the placement has 0 time axes"},
        {"heap 5; time: heap [4]; time b: heap [4]", "the placement has 2 time axes"},
    };
    for (const auto& c : cases) {
        try {
            Placement::parse(c.text, "stream x");
            ADD_FAILURE() << "accepted: " << c.text;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), testing::StartsWith(std::string("stream x: ") + c.message)) << c.text;
        }
    }
}

TEST(PlacementParser, BoundsTextsAxesExtrasAndLists) {
    const auto message = [](const std::string& text) -> std::string {
        try {
            Placement::parse(text);
            return "accepted";
        } catch (const UsageError& error) {
            return error.what();
        }
    };
    EXPECT_EQ(message(std::string(Placement::kMaxText + 1, ' ')),
              "a placement of 65537 characters is too long; give at most 65536");
    std::string axes = "heap 1";
    std::string extras = "heap 1; time: heap [1]";
    for (int i = 0; i < 9; i++) {
        axes += "; axis a" + std::to_string(i) + ": heap [1]";
        extras += "; extra u8: heap";
    }
    EXPECT_EQ(message(axes), "the placement has too many axes; give at most 8");
    EXPECT_EQ(message(extras), "the placement has too many extra values; give at most 8");
    std::string list = "heap 1; time: heap [1]; axis a: item 5 {0";
    for (int i = 1; i < 4096; i++)
        list += "," + std::to_string(i);
    EXPECT_EQ(message(list + "}"), "accepted");
    EXPECT_THAT(message(list + ",4096}"),
                testing::HasSubstr("give at most 4096 values in all lists together"));
}

TEST(PlacementParser, WritesWhatItReads) {
    for (const char* text :
         {"heap 5120; axis pol: item 0x3101 & 0x1 [2]; time: item 0x1600 / 4096 [8192]; extra u16: item "
          "0x3102 >> 32",
          "heap 8192; axis a: constant 1 [2]; time batch: heap // 1 [128] by 512; extra u8: endpoint - 3 // "
          "2; "
          "extra u64: item 0x9 {5, 4}; rows 512 by 65536; presence packet 1024; direct; wrap 38",
          "heap 1; time: item 0x5 [1]; tracked"})
        EXPECT_EQ(Placement::parse(text).text(), text);
}

/// Checks the examples of docs/chunks.md.
TEST(PlacementParser, ReadsTheExamplesOfTheDocumentation) {
    const struct {
        const char* text;
        std::uint64_t bytes;
        std::uint64_t present;
    } cases[] = {
        {"heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [8192]; extra u16: item 0x3102 "
         ">> 32",
         80 << 20, 16384},
        {"heap 65536; time: item 0x1600 / 2097152 [13]; axis ant: item 0x4101 [80]; presence packet 8192",
         65 << 20, 13 * 80 * 8},
        {"heap 262144; time: item 0x1600 / 2097152 [2]; axis ant: item 0x4101 [64]; axis chan: item 0x4103 - "
         "1024 / 256 "
         "[4];\npresence packet 1024",
         128 << 20, 2 * 64 * 4 * 256},
        {"heap 65536; axis ant: item 0x4101 [80]; time: item 0x1600 / 2097152 [128] by 512; rows 512 by "
         "65536",
         80 << 23, 80 * 128},
    };
    for (const auto& c : cases) {
        const Layout layout = Placement::parse(c.text).check();
        EXPECT_EQ(layout.bytes, c.bytes) << c.text;
        EXPECT_EQ(layout.present_bytes(), c.present) << c.text;
    }
    EXPECT_EQ(Placement::parse(cases[3].text).strides()[0], 128U * 65536);
    try {
        Placement::parse("heap 65536; time: item 0x1600 / 2097152 [129] by 512; rows 512 by 65536");
        ADD_FAILURE();
    } catch (const UsageError& error) {
        EXPECT_STREQ(
            error.what(),
            "the rows of a heap lie 65536 bytes apart, and each takes 66048 bytes (512 + 128 x 512); give a "
            "stride of 66048 at least, or none");
    }
}

TEST(PlacementParser, ReadsTheTextOfEveryPlacement) {
    RandomPlacement random(2);
    for (int i = 0; i < 5000; i++) {
        const Placement p = random.make(20, 40);
        p.check();
        EXPECT_EQ(Placement::parse(p.text()), p) << p.text();
    }
}

}  // namespace
}  // namespace spead::chunk
