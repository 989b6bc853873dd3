// SPDX-License-Identifier: BSD-3-Clause
#include "sink/missing_heaps.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace spead::sink::unit_test {
namespace {

/// Returns a chunk of letters, with `element` in the place of what is missing. `present`: 1 for what came.
std::string filled(const std::string& placement, const std::string& present,
                   std::string_view element = "-=") {
    const auto p = chunk::Placement::parse(placement);
    const chunk::Layout layout = p.check();
    std::vector<std::byte> data(layout.bytes);
    for (std::size_t i = 0; i < data.size(); i++)
        data[i] = static_cast<std::byte>('a' + i % 26);
    std::vector<std::uint8_t> came(layout.present_bytes());
    std::ranges::transform(present, came.begin(), [](char c) { return c == '1' ? 1 : 0; });
    chunk::Chunk chunk;
    chunk.data = data;
    chunk.present = came;
    chunk.heaps_expected = layout.heaps;
    chunk.heaps_present = present.find('0') == present.npos ? layout.heaps : 0;
    MissingHeaps(p).fill(chunk, std::as_bytes(std::span(element)));
    std::string text(data.size(), '\0');
    std::ranges::transform(data, text.begin(), [](std::byte b) { return static_cast<char>(b); });
    return text;
}

TEST(MissingHeaps, AreOverwrittenInTheirPlaces) {
    const char* const two = "heap 4; axis pol: item 0x3101 [2]; time: item 0x1600 [2]";
    EXPECT_EQ(filled(two, "1111"), "abcdefghijklmnop");
    EXPECT_EQ(filled(two, "1011"), "abcd-=-=ijklmnop");
    EXPECT_EQ(filled(two, "1100"), "abcdefgh-=-=-=-=");
}

TEST(MissingHeaps, LieWhereTheStridesSay) {
    EXPECT_EQ(filled("heap 4; axis pol: item 0x3101 [2] by 4; time: item 0x1600 [2] by 8", "1011"),
              "abcdefgh-=-=mnop")
        << "the second heap is the second time of the first pol";
    EXPECT_EQ(filled("heap 8; time: item 0x1600 [2] by 2; rows 2 by 4", "01"), "-=cd-=gh-=kl-=op");
}

TEST(MissingHeaps, BeginAndEndWithinAnElement) {
    EXPECT_EQ(filled("heap 11; time: item 0x1600 [2]; presence packet 5", "101011").substr(0, 11),
              "abcde=-=-=k");
    EXPECT_EQ(filled("heap 9; time: item 0x1600 [2] by 3; rows 3 by 6", "01"), "-=-def=-=jkl-=-pqr");
}

TEST(MissingHeaps, AreClearedByASingleZero) {
    const std::string zeros(4, '\0');
    const std::string two = "heap 4; axis pol: item 0x3101 [2]; time: item 0x1600 [2]";
    const std::string_view zero("\0", 1);
    EXPECT_EQ(filled(two, "1010", zero), "abcd" + zeros + "ijkl" + zeros);
    EXPECT_EQ(filled(two, "0000", zero), zeros + zeros + zeros + zeros);
    // Two rows of 2 bytes, 4 bytes apart: heap 0 has bytes 0 1 4 5, heap 1 has 2 3 6 7.
    const std::string rows = "heap 4; time: item 0x1600 [2] by 2; rows 2 by 4";
    EXPECT_EQ(filled(rows, "10", zero), std::string("ab\0\0ef\0\0", 8));
    EXPECT_EQ(filled(rows, "01", zero), std::string("\0\0cd\0\0gh", 8));
}

TEST(MissingHeaps, LeaveThePacketsThatCame) {
    const std::string got = filled("heap 1500; time: item 0x1600 [2]; presence packet 1000; direct", "1001",
                                   std::string_view("\0", 1));
    const auto zeros = [&](std::size_t from, std::size_t to) {
        return std::count(got.begin() + static_cast<std::ptrdiff_t>(from),
                          got.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    };
    EXPECT_EQ(zeros(0, 1000), 0);
    EXPECT_EQ(zeros(1000, 1500), 500) << "the last packet is short";
    EXPECT_EQ(zeros(1500, 2500), 1000);
    EXPECT_EQ(zeros(2500, 3000), 0);
}

}  // namespace
}  // namespace spead::sink::unit_test
