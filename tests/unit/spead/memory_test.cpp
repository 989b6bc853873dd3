// SPDX-License-Identifier: BSD-3-Clause
#include "spead/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <gmock/gmock.h>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(Memory, IsMappedWithoutASession) {
    constexpr std::size_t kBytes = 5000;
    const Memory memory = Memory::huge(kBytes);
    ASSERT_EQ(memory.bytes().size(), kBytes);
    EXPECT_EQ(memory.as<double>().size(), kBytes / sizeof(double));
    EXPECT_TRUE(std::ranges::all_of(memory.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_THAT(std::string(memory.pages()), AnyOf("huge pages", "transparent huge pages", "4 KiB pages"));

    const Memory same = memory;
    same.bytes().back() = std::byte{7};
    EXPECT_EQ(memory.bytes().back(), std::byte{7});
}

TEST(Memory, RefusesWhatNoMachineHas) {
    EXPECT_THAT(test::refusal([] { Memory::huge(0); }), HasSubstr("0 bytes"));
    EXPECT_THAT(test::refusal([] { Memory::huge(std::size_t{1} << 45); }), HasSubstr("ask for less"));
    EXPECT_NE(test::refusal([] { Memory::huge(std::numeric_limits<std::size_t>::max()); }), "");
}

}  // namespace
}  // namespace spead
