// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Limits the age of a snapshot; an older one does not describe the present.
inline constexpr std::chrono::seconds kOldestReadiness{10};

/// Limits the time for which an lcore of a live process may not answer, in seconds, unless `lcore_timeout`
/// says otherwise. It is that key's default.
inline constexpr double kLongestSilence = 30;
/// Limits the age of the numbers of a live process. It is longer than what an orderly end may take.
inline constexpr std::chrono::seconds kOldestLife{120};

/// Returns the limit that an `lcore_timeout` makes, in seconds; infinity: none.
double longest_silence(const std::optional<double>& lcore_timeout);

/// Returns why the process should be started again, one sentence a line. Empty: every lcore has answered
/// within `longest_silence`, in seconds, or the run has not begun. Pure.
std::string why_not_alive(const stats::LatestSnapshot::View& view, double longest_silence = kLongestSilence);

/// Returns why the process does not do all of its work, one sentence a line. Empty: its ports run, its lcores
/// answer, its engines move payload, its streams are received and their sinks take heaps. Groups are joined
/// before a stream is received at all. It does not judge the packets from the network. Pure.
std::string why_not_ready(const stats::LatestSnapshot::View& view);

}  // namespace spead::observe
