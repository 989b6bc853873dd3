// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace spead::memory {

/// Copies `length` bytes between ranges that do not overlap; any alignment. The payload copy of the RX lcore:
/// same result as memcpy, for lengths of 64 bytes to 9 KiB to destinations that are mostly not in cache.
/// Chosen once at start by the CPU's features (the rest of the program is built for Debian's x86-64
/// baseline).
using CopyFunction = void (*)(void* to, const void* from, std::size_t length) noexcept;

/// Returns the implementation for this machine.
CopyFunction payload_copy() noexcept;
/// Returns its name: "avx512", "avx2" or "memcpy".
const char* payload_copy_name() noexcept;

struct CopyChoice {
    const char* name;
    CopyFunction function;
};
/// Returns all implementations that this machine can run, the best first; for tests and comparisons.
std::span<const CopyChoice> payload_copies() noexcept;

}  // namespace spead::memory
