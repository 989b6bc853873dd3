// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>

namespace spead {

/// Returns an empty T, the same one at each call. It is never destroyed: threads may use it while the process
/// ends.
template <typename T>
const T& empty_of() noexcept {
    alignas(T) static std::byte room[sizeof(T)];
    static const T& one = *::new (static_cast<void*>(room)) T();
    return one;
}

}  // namespace spead
