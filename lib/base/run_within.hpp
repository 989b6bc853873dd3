// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace spead {

/// Runs `work`, which may wait for a file system without end, on a thread of its own. Returns false when it
/// has not ended after `patience`: then its thread goes on alone, so `work` owns all that it uses. Throws
/// what `work` throws, and Error naming `what` when there is no thread left. Control code; any thread.
bool run_within(std::chrono::milliseconds patience, const std::string& what, std::function<void()> work);

}  // namespace spead
