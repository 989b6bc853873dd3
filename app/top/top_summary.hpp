// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/top/top_frame.hpp"
#include "app/top/top_report.hpp"

/// The lines of `top` above its table: what goes on as a whole. Pure.
namespace spead::app {

/// Returns "ok", or what is not well: streams, senders, ports and lcores by name, and how many findings stand
/// on the page of losses; `columns` at most, what is left out as a number.
std::string health_of(const Json& report, std::size_t columns);

/// Returns lines that are not yet cut to the terminal's width.
std::vector<std::string> top_summary(const Pair& pair, const TopSample& now, const TopView& view,
                                     const TopSize& size);

}  // namespace spead::app
