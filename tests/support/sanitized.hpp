// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::test {

// gcc and clang name their sanitizers differently.
#ifdef __has_feature
#define SPEAD_HAS_FEATURE(name) __has_feature(name)
#else
#define SPEAD_HAS_FEATURE(name) 0
#endif

/// Says whether the build has AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__) || SPEAD_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// Says whether a sanitizer makes the code some ten times slower.
#if defined(__SANITIZE_THREAD__) || SPEAD_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kAddressSanitizer;
#endif

/// Returns how many random cases a test tries: a quarter of them with a sanitizer.
constexpr std::uint64_t cases(std::uint64_t all) {
    return kSanitized ? all / 4 : all;
}

}  // namespace spead::test
