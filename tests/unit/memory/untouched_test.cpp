// SPDX-License-Identifier: BSD-3-Clause
#include "memory/untouched.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::memory {
namespace {

std::size_t resident_pages(std::span<std::byte> bytes) {
    std::vector<unsigned char> pages(bytes.size() / static_cast<std::size_t>(getpagesize()));
    EXPECT_EQ(mincore(bytes.data(), bytes.size(), pages.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
}

TEST(Untouched, IsResidentAsFarAsAsked) {
    constexpr std::size_t kLength = std::size_t{16} << 20;
    constexpr std::size_t kPart = std::size_t{6} << 20;
    const auto page = static_cast<std::size_t>(getpagesize());
    EXPECT_EQ(resident_pages(Untouched(kLength).bytes()), 0U);
    const Untouched part(kLength, kPart);
    EXPECT_EQ(resident_pages(part.bytes().first(kPart)), kPart / page);
    // Huge pages end where they end.
    EXPECT_LE(resident_pages(part.bytes()), (kPart + (std::size_t{2} << 20)) / page);
    EXPECT_EQ(resident_pages(Untouched(kLength, 2 * kLength).bytes()), kLength / page);
    EXPECT_TRUE(Untouched(0, kPart).bytes().empty());
}

TEST(Untouched, RefusesMoreThanThereIs) {
    EXPECT_THROW(Untouched(std::size_t{1} << 46, std::size_t{1} << 46), Error);
}

}  // namespace
}  // namespace spead::memory
