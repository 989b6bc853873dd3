// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace spead::memory {

/// Says whether memory was made resident. Kernels before 5.14 do not know how.
enum class Populated : unsigned char { yes, no, unknown };

/// Makes private memory resident that begins at a page. Returns `no` with errno set. Control code only.
Populated populate(void* at, std::size_t length) noexcept;

/// Does the same on any kernel: by a write to each page, where it does not know how. The memory is not in use
/// yet. Returns false with errno set.
bool make_resident(void* at, std::size_t length) noexcept;

}  // namespace spead::memory
