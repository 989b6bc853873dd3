// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy_trial.hpp"

#include <gtest/gtest.h>

#include "memory/copy.hpp"

namespace spead::memory {
namespace {

TEST(CopyTrial, MeasuresBothKindsWhereThereAreTwo) {
    const CopyTrial trial = try_copies(std::size_t{8} << 20, std::size_t{4} << 20);
    EXPECT_EQ(trial.cached > 0, payload_copies().streams());
    EXPECT_EQ(trial.streaming > 0, payload_copies().streams());
    EXPECT_GT(trial.share, 0);
    EXPECT_LE(trial.share, 1);
}

TEST(CopyTrial, MeasuresNothingWithoutMemory) {
    const CopyTrial trial = try_copies(std::size_t{1} << 60, std::size_t{4} << 20);
    EXPECT_EQ(trial.cached, 0);
    EXPECT_FALSE(trial.streaming_pays());
}

TEST(CopyTrial, PaysOnlyByMoreThanNoise) {
    EXPECT_TRUE((CopyTrial{.cached = 120, .streaming = 100}).streaming_pays());
    EXPECT_FALSE((CopyTrial{.cached = 119, .streaming = 100}).streaming_pays());
    EXPECT_FALSE((CopyTrial{.cached = 100, .streaming = 0}).streaming_pays());
}

}  // namespace
}  // namespace spead::memory
