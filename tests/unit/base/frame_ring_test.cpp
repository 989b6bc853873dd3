// SPDX-License-Identifier: BSD-3-Clause
#include "base/frame_ring.hpp"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spead {
namespace {

bool put(FrameRing& ring, std::uint8_t value, std::size_t length) {
    std::uint8_t* const to = ring.reserve(length);
    if (to == nullptr)
        return false;
    std::memset(to, value, length);
    ring.commit();
    return true;
}

std::vector<std::vector<std::uint8_t>> take(FrameRing& ring) {
    std::vector<std::vector<std::uint8_t>> frames;
    ring.take_all(
        [&](std::span<const std::uint8_t> frame) { frames.emplace_back(frame.begin(), frame.end()); });
    return frames;
}

TEST(FrameRing, FramesComeOutInOrderAndWhole) {
    const auto ring = std::make_unique<FrameRing>();
    EXPECT_TRUE(take(*ring).empty());
    EXPECT_TRUE(put(*ring, 1, 60));
    EXPECT_TRUE(put(*ring, 2, FrameRing::kFrameBytes));
    EXPECT_TRUE(put(*ring, 3, 0));
    const auto frames = take(*ring);
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0], std::vector<std::uint8_t>(60, 1));
    EXPECT_EQ(frames[1], std::vector<std::uint8_t>(FrameRing::kFrameBytes, 2));
    EXPECT_TRUE(frames[2].empty());
    EXPECT_TRUE(take(*ring).empty());
}

TEST(FrameRing, WhatDoesNotFitIsRefused) {
    const auto ring = std::make_unique<FrameRing>();
    EXPECT_FALSE(put(*ring, 1, FrameRing::kFrameBytes + 1));
    for (std::size_t round = 0; round < 3; round++) {
        for (std::size_t i = 0; i < FrameRing::kFrames; i++)
            EXPECT_TRUE(put(*ring, static_cast<std::uint8_t>(i), 60));
        EXPECT_FALSE(put(*ring, 1, 60));
        EXPECT_EQ(take(*ring).size(), FrameRing::kFrames);
    }
}

TEST(FrameRing, TwoThreadsLoseAndMixNothing) {
    const auto ring = std::make_unique<FrameRing>();
    constexpr unsigned kCount = 20'000;
    std::thread lcore([&] {
        for (unsigned i = 0; i < kCount;)
            if (put(*ring, static_cast<std::uint8_t>(i), 60 + i % 100))
                i++;
            else
                std::this_thread::yield();
    });
    unsigned next = 0;
    while (next != kCount) {
        for (const auto& frame : take(*ring)) {
            EXPECT_EQ(frame, std::vector<std::uint8_t>(60 + next % 100, static_cast<std::uint8_t>(next)));
            next++;
        }
        std::this_thread::yield();
    }
    lcore.join();
}

}  // namespace
}  // namespace spead
