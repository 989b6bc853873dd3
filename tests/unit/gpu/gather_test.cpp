// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/kernels/gather.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

/// Holds the kernel's source, compiled for the host, against memcpy.
namespace spead::gpu {
namespace {

/// Holds bytes that are not alike, and those around a copy, which must not be touched.
class Copies : public ::testing::Test {
  protected:
    Copies() {
        for (unsigned char& byte : source_)
            byte = static_cast<unsigned char>(random() % 0xee);
    }

    void expect_copied(std::size_t from, std::size_t to, unsigned length) {
        SCOPED_TRACE(testing::Message() << length << " bytes from offset " << from << " to " << to);
        got_.fill(0xee);
        expected_.fill(0xee);
        std::memcpy(expected_.data() + to, source_.data() + from, length);
        const kernels::Piece piece{std::bit_cast<std::uintptr_t>(source_.data() + from),
                                   std::bit_cast<std::uintptr_t>(got_.data() + to), length, 0};
        kernels::copy_piece(piece, 0);
        EXPECT_EQ(std::memcmp(got_.data(), expected_.data(), got_.size()), 0);
    }

    std::mt19937 random{1};

  private:
    alignas(128) std::array<unsigned char, 12288> source_;
    alignas(128) std::array<unsigned char, 12288> got_;
    alignas(128) std::array<unsigned char, 12288> expected_;
};

TEST_F(Copies, AreExactForEveryShortLengthAtEveryAlignment) {
    for (unsigned length = 0; length <= 50; length++)
        for (std::size_t from = 0; from < 16; from++)
            expect_copied(128 + from, 128 + random() % 16, length);
    for (std::size_t from = 0; from < 16; from++)
        for (std::size_t to = 0; to < 16; to++)
            expect_copied(128 + from, 128 + to, 100);
}

TEST_F(Copies, AreExactForRandomLengthsAtRandomPlaces) {
    for (int i = 0; i < 600; i++)
        expect_copied(random() % 1000, random() % 1000, static_cast<unsigned>(random() % 9300));
}

TEST(GatherKernel, ReadsNoWordWithoutAByteOfThePiece) {
    // AddressSanitizer reports other words: the piece ends with the memory.
    for (unsigned length = 1; length < 600; length += 7) {
        std::vector<unsigned char> memory((length + 15) / 16 * 16 + 16);
        auto* const end = memory.data() + memory.size() - std::bit_cast<std::uintptr_t>(memory.data()) % 16;
        std::vector<unsigned char> got(length);
        const kernels::Piece piece{std::bit_cast<std::uintptr_t>(end - length),
                                   std::bit_cast<std::uintptr_t>(got.data()), length, 0};
        kernels::copy_piece(piece, 0);
        EXPECT_EQ(std::memcmp(got.data(), end - length, length), 0);
    }
}

TEST(GatherKernel, ShiftsBytesAcrossTwoWords) {
    std::array<unsigned char, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<unsigned char>(i);
    kernels::Word here{};
    kernels::Word after{};
    std::memcpy(&here, bytes.data(), 16);
    std::memcpy(&after, bytes.data() + 16, 16);
    for (unsigned shift = 0; shift < 16; shift++) {
        const kernels::Word word = kernels::shifted(here, after, shift);
        EXPECT_EQ(std::memcmp(&word, bytes.data() + shift, 16), 0) << shift;
    }
}

}  // namespace
}  // namespace spead::gpu
