// SPDX-License-Identifier: BSD-3-Clause
#include "base/heap_pattern.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "base/verify_sequence.hpp"

namespace spead {
namespace {

constexpr std::array kPatterns{HeapPattern::p1, HeapPattern::p2, HeapPattern::p3, HeapPattern::p3b,
                               HeapPattern::p4};

std::vector<std::byte> payload_of(HeapPattern pattern, const PatternHeap& heap, std::size_t size) {
    std::vector<std::byte> bytes(size);
    pattern_generate(bytes, pattern, heap);
    return bytes;
}

TEST(HeapPattern, SizesAreThoseOfTheTelescopes) {
    // Heap bytes follow from channels, spectra, polarisations and bytes of a sample.
    EXPECT_EQ(shape_of(HeapPattern::p1).heap_bytes, 4096u * 10 / 8);
    EXPECT_EQ(shape_of(HeapPattern::p2).heap_bytes, 256u * 256 * 2 * 2);
    EXPECT_EQ(shape_of(HeapPattern::p3).heap_bytes, 512u * 32 * 2 * 2);
    EXPECT_EQ(shape_of(HeapPattern::p3b).heap_bytes, 32u * 32 * 2 * 2);
    EXPECT_EQ(shape_of(HeapPattern::p4).heap_bytes, 512u * (80 * 81 / 2 * 4) * 8);
    EXPECT_EQ(shape_of(HeapPattern::p4).heap_bytes / shape_of(HeapPattern::p4).packet_payload, 6480u);
    for (const HeapPattern pattern : kPatterns)
        EXPECT_EQ(shape_of(pattern).heap_bytes % shape_of(pattern).packet_payload, 0u);
}

TEST(HeapPattern, ItemsOfADigitiser) {
    const PatternItems items = pattern_items(HeapPattern::p1, {3, 0, 7});
    ASSERT_EQ(items.count, 3u);
    EXPECT_EQ(items.items[0], (PatternItem{0x1600, 3 * 4096}));
    EXPECT_EQ(items.items[1], (PatternItem{0x3101, 3 << 2 | 1}));  // antenna 3, polarisation 1
    EXPECT_EQ(items.items[2].id, 0x3102u);
    EXPECT_FALSE(items.value(0x4101));
}

TEST(HeapPattern, TheStatusOfADigitiserVaries) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t time = 0; time < 200; time++) {
        const std::uint64_t status = pattern_items(HeapPattern::p1, {time, 0, 0}).value(0x3102).value();
        EXPECT_EQ(status & 0xFFFFFFFF, status >> 32 != 0 ? 2u : 0u);
        EXPECT_EQ(status >> 48, 0u);
        seen.insert(status);
    }
    EXPECT_GT(seen.size(), 10u);
    EXPECT_TRUE(seen.contains(0));
}

TEST(HeapPattern, ItemsOfChannels) {
    const PatternItems p2 = pattern_items(HeapPattern::p2, {5, 3, 63});
    EXPECT_EQ(std::vector(p2.view().begin(), p2.view().end()),
              (std::vector<PatternItem>{{0x1600, 5 * 2097152}, {0x4101, 63}, {0x4103, 3 * 256}}));
    const PatternItems p4 = pattern_items(HeapPattern::p4, {2, 63, 0});
    EXPECT_EQ(std::vector(p4.view().begin(), p4.view().end()),
              (std::vector<PatternItem>{{0x1600, 2 * std::uint64_t{855638016}}, {0x4103, 63 * 512}}));
}

TEST(HeapPattern, TimestampsWrapAt48Bits) {
    constexpr std::uint64_t kWrap = (std::uint64_t{1} << 48) / 4096;
    EXPECT_EQ(pattern_items(HeapPattern::p1, {kWrap - 1, 0, 0}).value(0x1600), (kWrap - 1) * 4096);
    EXPECT_EQ(pattern_items(HeapPattern::p1, {kWrap + 2, 0, 0}).value(0x1600), 2u * 4096);
}

TEST(HeapPattern, NoneHasNothing) {
    EXPECT_EQ(pattern_items(HeapPattern::none, {1, 2, 3}).count, 0u);
    EXPECT_EQ(shape_of(HeapPattern::none).heap_bytes, 0u);
}

TEST(HeapPattern, PayloadIsTheSequenceUnderTheNames) {
    const PatternHeap heap{77, 2, 9};
    const auto bytes = payload_of(HeapPattern::p3, heap, 2000);
    std::vector<std::byte> plain(2000);
    verify_generate(plain, pattern_first_word(heap));
    for (std::size_t i = 0; i < bytes.size(); i++) {
        if (i % 512 >= 16) {
            ASSERT_EQ(bytes[i], plain[i]) << i;
        }
    }
    // Golden: magic and time; pattern, group, sender and block.
    EXPECT_EQ(load_be64(bytes.data()), 0x5EAD00000000004Du);
    EXPECT_EQ(load_be64(bytes.data() + 8), 0x0302000900000000u);
    EXPECT_EQ(load_be64(bytes.data() + 1024 + 8), 0x0302000900000002u);
}

TEST(HeapPattern, AnyPartIsMadeAsInTheWhole) {
    const PatternHeap heap{123456, 1, 4};
    const auto whole = payload_of(HeapPattern::p2, heap, 5000);
    std::mt19937 random(1);
    for (int i = 0; i < 2000; i++) {
        const std::size_t offset = random() % 4990;
        std::vector<std::byte> part(1 + random() % (whole.size() - offset));
        pattern_generate(part, HeapPattern::p2, heap, offset);
        ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
            << offset << " + " << part.size();
        ASSERT_EQ(pattern_check(part, HeapPattern::p2, heap, offset), part.size());
    }
}

TEST(HeapPattern, EveryWrongByteIsFoundAtItsPlace) {
    const PatternHeap heap{9, 0, 1};
    auto bytes = payload_of(HeapPattern::p1, heap, 1200);
    for (std::size_t i = 0; i < bytes.size(); i++) {
        bytes[i] ^= std::byte{0x10};
        ASSERT_EQ(pattern_check(bytes, HeapPattern::p1, heap), i);
        ASSERT_EQ(pattern_check(std::span(bytes).subspan(i / 2), HeapPattern::p1, heap, i / 2), i - i / 2);
        bytes[i] ^= std::byte{0x10};
    }
    EXPECT_EQ(pattern_check({}, HeapPattern::p1, heap, 7), 0u);
}

TEST(HeapPattern, NamesAreReadAnywhere) {
    const PatternHeap heap{(std::uint64_t{1} << 48) - 1, 255, 4095};
    const auto bytes = payload_of(HeapPattern::p4, heap, 4096);
    for (std::size_t offset = 0; offset < 2048; offset++) {
        const auto name = pattern_name(std::span(bytes).subspan(offset), offset);
        ASSERT_TRUE(name) << offset;
        ASSERT_EQ(*name, (PatternName{HeapPattern::p4, heap}));
    }
    // Bytes of another offset, too few bytes, and bytes that are no pattern have no name.
    EXPECT_FALSE(pattern_name(std::span(bytes).subspan(512), 0));
    EXPECT_FALSE(pattern_name(std::span(bytes).first(15)));
    EXPECT_FALSE(pattern_name(std::span(bytes).subspan(1).first(520), 1));
    EXPECT_FALSE(pattern_name({}, 1));
    std::vector<std::byte> plain(2000);
    verify_generate(plain, 5);
    EXPECT_FALSE(pattern_name(plain));
    std::vector<std::byte> none = bytes;
    none[8] = std::byte{0};
    EXPECT_FALSE(pattern_name(none));
    none[8] = std::byte{6};
    EXPECT_FALSE(pattern_name(none));
}

TEST(HeapPattern, HeapsNearEachOtherBeginFarApart) {
    std::vector<std::uint64_t> first;
    for (std::uint64_t time = 0; time < 40; time++)
        for (std::uint32_t group = 0; group < 4; group++)
            for (std::uint32_t sender = 0; sender < 80; sender++)
                first.push_back(pattern_first_word({time, group, sender}));
    std::sort(first.begin(), first.end());
    // A heap of 8 KiB is 2048 words: then no two of these 12800 heaps share a word.
    for (std::size_t i = 1; i < first.size(); i++)
        ASSERT_GT(first[i] - first[i - 1], 2048u);
    for (const std::uint64_t word : first)
        ASSERT_LT(word, kVerifyPeriod);
}

TEST(HeapPattern, OneDifferentNumberMakesADifferentHeap) {
    const PatternHeap heap{1000, 3, 5};
    const auto bytes = payload_of(HeapPattern::p3, heap, 512);
    for (const PatternHeap& other : {PatternHeap{1001, 3, 5}, PatternHeap{1000, 2, 5},
                                     PatternHeap{1000, 3, 4}, PatternHeap{1000 + 2048, 3, 3}})
        EXPECT_LT(pattern_check(bytes, HeapPattern::p3, other), kPatternName);
    EXPECT_LT(pattern_check(bytes, HeapPattern::p2, heap), kPatternName);
    EXPECT_LT(pattern_check(bytes, HeapPattern::p3, heap, 512), kPatternName);
}

}  // namespace
}  // namespace spead
