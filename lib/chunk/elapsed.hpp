// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::chunk {

/// Returns the ticks from one time to another; 0 when the other is the earlier one. Lcores take their times
/// apart, so the one that asks may have a packet from before another's.
constexpr std::uint64_t elapsed(std::uint64_t from, std::uint64_t to) noexcept {
    return to > from ? to - from : 0;
}

}  // namespace spead::chunk
