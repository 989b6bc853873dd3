// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Numbers that are older than this tell nothing about what runs now.
inline constexpr std::chrono::seconds kOldestReadiness{10};

/// Returns why the process does not do all of its work, one sentence a line; empty: its ports run, its lcores
/// answer and its streams are received. It says nothing about what comes from the network. Pure.
std::string why_not_ready(const stats::LatestSnapshot::View& view);

}  // namespace spead::observe
