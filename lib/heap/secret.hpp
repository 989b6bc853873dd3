// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::heap {

/// Returns an odd multiplier, drawn once per process, for hashes over received values: a sender cannot choose
/// values that collide.
std::uint64_t hash_secret() noexcept;

}  // namespace spead::heap
