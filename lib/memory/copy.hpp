// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spead::memory {

/// Says how a copy writes. `cached`: into the cache, for memory that is used again while it is there.
/// `streaming`: past the cache, with non-temporal stores. Those do not read a line before they write it, and
/// they leave the other lines in the cache, but a reader finds nothing there.
enum class Stores : std::uint8_t { cached, streaming };

constexpr const char* name_of(Stores stores) noexcept {
    return stores == Stores::cached ? "cached" : "streaming";
}

/// Copies `length` bytes between ranges that do not overlap; any alignment. The payload copy of the RX lcore:
/// same result as memcpy, for lengths of 64 bytes to 9 KiB. After streaming copies, call end_streaming().
using CopyFunction = void (*)(void* to, const void* from, std::size_t length) noexcept;

/// Orders streaming copies before later stores: call it before another thread is told of the bytes.
inline void end_streaming() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

/// Holds the copies of one instruction set. Where it has no non-temporal stores, both are the same.
struct CopyChoice {
    const char* name;  ///< "avx512", "avx2" or "memcpy"
    CopyFunction cached;
    CopyFunction streaming;

    CopyFunction with(Stores stores) const noexcept { return stores == Stores::cached ? cached : streaming; }
    bool streams() const noexcept { return cached != streaming; }
};

/// Returns the best copies that this machine can run, chosen once by the CPU's features: the rest of the
/// program is built for Debian's x86-64 baseline.
const CopyChoice& payload_copies() noexcept;

/// Returns all that this machine can run, the best first; for tests and comparisons.
std::span<const CopyChoice> all_payload_copies() noexcept;

}  // namespace spead::memory
