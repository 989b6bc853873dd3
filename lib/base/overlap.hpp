// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace spead {

/// Returns whether the ranges have a byte in common.
inline bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
    return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace spead
