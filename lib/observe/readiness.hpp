// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Limits the age of a snapshot; an older one does not describe the present.
inline constexpr std::chrono::seconds kOldestReadiness{10};

/// Returns why the process does not do all of its work, one sentence a line. Empty: its ports run, its lcores
/// answer and its streams are received. It does not judge the packets from the network. Pure.
std::string why_not_ready(const stats::LatestSnapshot::View& view);

}  // namespace spead::observe
