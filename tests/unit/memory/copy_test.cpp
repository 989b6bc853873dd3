// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spead::memory {
namespace {

constexpr std::uint8_t kGuard = 0xee;

class PayloadCopy : public ::testing::TestWithParam<CopyChoice> {
  protected:
    /// Copies `length` bytes at the given misalignments. The bytes before and behind must stay.
    void check(std::size_t length, std::size_t to_shift, std::size_t from_shift) {
        const std::size_t room = 64 + to_shift + length + 64;
        // Allocated to the byte, so that the sanitizer sees a read behind the source.
        const auto from = std::make_unique<std::uint8_t[]>(from_shift + length);
        for (std::size_t i = 0; i < length; i++)
            from[from_shift + i] = static_cast<std::uint8_t>(random_());
        std::vector<std::uint8_t> to(room, kGuard);
        GetParam().function(to.data() + 64 + to_shift, from.get() + from_shift, length);
        ASSERT_EQ(std::memcmp(to.data() + 64 + to_shift, from.get() + from_shift, length), 0)
            << length << " bytes";
        for (std::size_t i = 0; i < 64 + to_shift; i++)
            ASSERT_EQ(to[i], kGuard) << length << " bytes: wrote before the destination";
        for (std::size_t i = 64 + to_shift + length; i < room; i++)
            ASSERT_EQ(to[i], kGuard) << length << " bytes: wrote behind the destination";
    }

  private:
    std::minstd_rand random_{1};
};

TEST_P(PayloadCopy, CopiesEveryShortLength) {
    for (std::size_t length = 0; length <= 1100; length++)
        ASSERT_NO_FATAL_FAILURE(check(length, length % 64, length * 7 % 64));
}

TEST_P(PayloadCopy, CopiesAtEveryAlignment) {
    for (const std::size_t length : {31U, 32U, 33U, 63U, 64U, 65U, 255U, 256U, 257U, 1408U})
        for (std::size_t shift = 0; shift < 64; shift++) {
            ASSERT_NO_FATAL_FAILURE(check(length, shift, 0));
            ASSERT_NO_FATAL_FAILURE(check(length, 0, shift));
        }
}

TEST_P(PayloadCopy, CopiesPacketsAndMore) {
    for (const std::size_t length : {1472U, 4096U, 4097U, 8192U, 8999U, 9200U, 65507U, 1U << 20})
        ASSERT_NO_FATAL_FAILURE(check(length, 3, 42));
}

INSTANTIATE_TEST_SUITE_P(OnThisMachine, PayloadCopy,
                         ::testing::ValuesIn(payload_copies().begin(), payload_copies().end()),
                         [](const auto& choice) { return std::string(choice.param.name); });

TEST(PayloadCopies, AreListedBestFirstAndAlwaysHaveMemcpy) {
    ASSERT_FALSE(payload_copies().empty());
    EXPECT_EQ(payload_copies().front().function, payload_copy());
    EXPECT_STREQ(payload_copies().front().name, payload_copy_name());
    EXPECT_STREQ(payload_copies().back().name, "memcpy");
}

}  // namespace
}  // namespace spead::memory
