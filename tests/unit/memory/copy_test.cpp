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

struct NamedCopy {
    std::string name;
    PayloadCopy copy;
    bool onward;  ///< the next packet is close behind
};

/// Returns every copy of this machine by its name.
std::vector<NamedCopy> copies() {
    std::vector<NamedCopy> all;
    for (const CopyChoice& choice : all_payload_copies())
        for (const Stores stores : {Stores::cached, Stores::streaming})
            for (const bool onward : {false, true})
                if (stores == Stores::cached || choice.streams())
                    all.push_back(
                        {std::string(choice.name) + "_" + name_of(stores) + (onward ? "_onward" : ""),
                         choice.with(stores), onward});
    return all;
}

class PayloadCopyTest : public ::testing::TestWithParam<NamedCopy> {
  protected:
    /// Copies `length` bytes at the given misalignments. The bytes before and behind must stay.
    void check(std::size_t length, std::size_t to_shift, std::size_t from_shift) {
        const std::size_t room = 64 + to_shift + length + 64;
        // Allocated to the byte, so that the sanitizer sees a read behind the source.
        const auto from = std::make_unique<std::uint8_t[]>(from_shift + length);
        for (std::size_t i = 0; i < length; i++)
            from[from_shift + i] = static_cast<std::uint8_t>(random_());
        std::vector<std::uint8_t> to(room, kGuard);
        const auto* const begin = from.get() + from_shift;
        GetParam().copy.then(to.data() + 64 + to_shift, begin, length,
                             GetParam().onward ? begin + length + 500 : nullptr);
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

TEST_P(PayloadCopyTest, CopiesEveryShortLength) {
    for (std::size_t length = 0; length <= 1100; length++)
        ASSERT_NO_FATAL_FAILURE(check(length, length % 64, length * 7 % 64));
}

TEST_P(PayloadCopyTest, CopiesAtEveryAlignment) {
    for (const std::size_t length : {31U, 32U, 33U, 63U, 64U, 65U, 255U, 256U, 257U, 1408U})
        for (std::size_t shift = 0; shift < 64; shift++) {
            ASSERT_NO_FATAL_FAILURE(check(length, shift, 0));
            ASSERT_NO_FATAL_FAILURE(check(length, 0, shift));
        }
}

TEST_P(PayloadCopyTest, CopiesPacketsAndMore) {
    for (const std::size_t length : {1472U, 4096U, 4097U, 8192U, 8999U, 9200U, 65507U, 1U << 20})
        ASSERT_NO_FATAL_FAILURE(check(length, 3, 42));
}

TEST_P(PayloadCopyTest, CopiesEveryLengthAndAlignmentAroundTheLeastThatIsStreamed) {
    for (std::size_t length = 190; length <= 330; length++)
        for (const std::size_t shift : {0U, 1U, 15U, 16U, 31U, 32U, 33U, 63U})
            ASSERT_NO_FATAL_FAILURE(check(length, shift, 5));
}

INSTANTIATE_TEST_SUITE_P(OnThisMachine, PayloadCopyTest, ::testing::ValuesIn(copies()),
                         [](const auto& copy) { return copy.param.name; });

TEST(PayloadCopies, TakeTheOnwardOneOnlyIfTheNextIsCloseBehind) {
    static int alone;
    static int onward;
    const PayloadCopy copy([](void*, const void*, std::size_t) noexcept { alone++; },
                           [](void*, const void*, std::size_t) noexcept { onward++; });
    std::vector<std::byte> memory(8192);
    const std::byte* const from = memory.data() + 2048;
    copy.then(nullptr, from, 1000, from + 1000);
    copy.then(nullptr, from, 1000, from + 2024);
    EXPECT_EQ(onward, 2);
    copy.then(nullptr, from, 1000, from + 2025);
    copy.then(nullptr, from, 1000, from + 999);
    copy.then(nullptr, from, 1000, from - 500);
    copy.then(nullptr, from, 1000, nullptr);
    copy(nullptr, from, 1000);
    EXPECT_EQ(alone, 5);
    EXPECT_EQ(onward, 2);
}

TEST(PayloadCopies, AreListedBestFirstAndAlwaysHaveMemcpy) {
    ASSERT_FALSE(all_payload_copies().empty());
    EXPECT_STREQ(all_payload_copies().front().name, payload_copies().name);
    EXPECT_STREQ(all_payload_copies().back().name, "memcpy");
    EXPECT_FALSE(all_payload_copies().back().streams());
}

}  // namespace
}  // namespace spead::memory
