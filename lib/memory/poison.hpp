// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SPEAD_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPEAD_POISON 1
#endif
#endif

#ifdef SPEAD_POISON
#include <sanitizer/asan_interface.h>
#endif

/// Reports memory that is not to be touched at present to AddressSanitizer. Otherwise a pool's free blocks
/// are ordinary memory to it, and it would miss the use of a returned heap. Does nothing in other builds.
namespace spead::memory {

inline void poison([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t length) noexcept {
#ifdef SPEAD_POISON
    __asan_poison_memory_region(base, length);
#endif
}

inline void unpoison([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t length) noexcept {
#ifdef SPEAD_POISON
    __asan_unpoison_memory_region(base, length);
#endif
}

/// Returns whether touching one byte at `p` would be reported.
inline bool is_poisoned([[maybe_unused]] const void* p) noexcept {
#ifdef SPEAD_POISON
    return __asan_address_is_poisoned(p) != 0;
#else
    return false;
#endif
}

/// Says whether this build reports at all.
inline constexpr bool kPoisons =
#ifdef SPEAD_POISON
    true;
#else
    false;
#endif

}  // namespace spead::memory
