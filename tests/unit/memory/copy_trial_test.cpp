// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy_trial.hpp"

#include <gtest/gtest.h>

#include "memory/copy.hpp"

namespace spead::memory {
namespace {

TEST(CopyTrial, MeasuresBothKindsWhereThereAreTwo) {
    const CopyTrial trial = try_copies(std::size_t{8} << 20);
    EXPECT_EQ(trial.cached > 0, payload_copies().streams());
    EXPECT_EQ(trial.streaming > 0, payload_copies().streams());
}

TEST(CopyTrial, MeasuresNothingWithoutMemory) {
    const CopyTrial trial = try_copies(std::size_t{1} << 60);
    EXPECT_EQ(trial.cached, 0);
    EXPECT_FALSE(trial.streaming_pays());
}

TEST(CopyTrial, PaysOnlyByMoreThanNoise) {
    EXPECT_TRUE((CopyTrial{120, 100}).streaming_pays());
    EXPECT_FALSE((CopyTrial{119, 100}).streaming_pays());
    EXPECT_FALSE((CopyTrial{100, 0}).streaming_pays());
}

}  // namespace
}  // namespace spead::memory
