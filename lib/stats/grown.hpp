// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::stats {

/// Returns `now` less `before`; a restarted count is new as a whole.
constexpr std::uint64_t grown(std::uint64_t now, std::uint64_t before) noexcept {
    return now >= before ? now - before : now;
}

}  // namespace spead::stats
