// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace spead::runtime {

/// How long the main thread sleeps before it looks again at what it waits for.
inline constexpr std::chrono::milliseconds kStep{1};

/// A round of waiting for the end of a run that took longer was none of waiting: see WaitingTime.
inline constexpr std::chrono::milliseconds kRound{20};

/// Given where a wait takes a descriptor that ends it: there is none.
inline constexpr int kNoInterrupt = -1;

}  // namespace spead::runtime
