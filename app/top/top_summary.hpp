// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/top/top_frame.hpp"
#include "app/top/top_report.hpp"

/// Makes the lines of `top` above its table: the summary. Pure.
namespace spead::app {

/// Returns "ok", or the faults: streams, senders, ports and lcores by name, and the number of findings on the
/// page of losses. Has `columns` at most; the omitted ones are counted.
std::string health_of(const Json& report, std::size_t columns);

/// Returns lines that are not yet cut to the terminal's width.
std::vector<std::string> top_summary(const Pair& pair, const TopSample& now, const TopView& view,
                                     const TopSize& size);

}  // namespace spead::app
