// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace spead::runtime {

/// Holds the main thread's sleep between two looks in a wait.
inline constexpr std::chrono::milliseconds kStep{1};

/// Limits the length of a round that counts as waiting for the end of a run: see WaitingTime.
inline constexpr std::chrono::milliseconds kRound{20};

/// Limits the wait for engines that move payload.
inline constexpr std::chrono::seconds kGatherPatience{3};

/// Means no descriptor, in waits that take one to end them.
inline constexpr int kNoInterrupt = -1;

}  // namespace spead::runtime
