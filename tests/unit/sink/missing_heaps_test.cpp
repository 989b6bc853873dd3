// SPDX-License-Identifier: BSD-3-Clause
#include "sink/missing_heaps.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace spead::sink::unit_test {
namespace {

/// Returns a chunk of letters, with `-=` in the place of what is missing. `present`: 1 for what came.
std::string filled(const std::string& placement, const std::string& present) {
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
    const std::array element{std::byte{'-'}, std::byte{'='}};
    MissingHeaps(p).fill(chunk, element);
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

}  // namespace
}  // namespace spead::sink::unit_test
