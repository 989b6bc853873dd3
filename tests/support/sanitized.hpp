// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::test {

/// Says whether a sanitizer makes the code some ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Returns how many random cases a test tries: a quarter of them with a sanitizer.
constexpr std::uint64_t cases(std::uint64_t all) {
    return kSanitized ? all / 4 : all;
}

}  // namespace spead::test
