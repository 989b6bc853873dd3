// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

/// Holds words that several sentences share.
namespace spead::stats {

/// Returns "s0, s1 wait for it"; without streams nothing.
inline std::string wait_for_it(const std::vector<std::string>& streams) {
    return streams.empty() ? std::string()
                           : fmt::format("{} {} for it", fmt::join(streams, ", "),
                                         streams.size() == 1 ? "waits" : "wait");
}

/// Returns how a loss stands to the losses on this machine, of which there are none, or which are too few.
constexpr std::string_view beyond_losses_here(bool has_losses_here) noexcept {
    return has_losses_here ? "beyond what was lost or refused here" : "although nothing was lost here";
}

}  // namespace spead::stats
