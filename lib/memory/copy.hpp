// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
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

/// Holds the copies with one kind of stores. They prefetch source lines, as far as a few hundred bytes ahead.
class PayloadCopy {
  public:
    /// Makes it of two: `alone` reads ahead within the source only, and `onward` also beyond its end.
    constexpr PayloadCopy(CopyFunction alone, CopyFunction onward) noexcept
        : alone_(alone), onward_(onward) {}

    /// Copies, while nothing is known of the next copy.
    void operator()(void* to, const void* from, std::size_t length) const noexcept {
        alone_(to, from, length);
    }
    /// Copies, and reads ahead for the copy that comes next, from `next` (null: from nowhere). If that is
    /// close behind, the lines between are read too: the CPU prefetches far ahead while no line is skipped,
    /// and begins anew after a gap. From memory, packets that lie in their order are copied 1.4 to 1.8 times
    /// as fast that way, and others 1.2 times, by the prefetch of their first lines (Zen 4, `bench assemble
    /// --set 1GiB`). The next one is taken to be as long as this.
    void then(void* to, const void* from, std::size_t length, const void* next) const noexcept {
        const auto gap =
            reinterpret_cast<std::uintptr_t>(next) - reinterpret_cast<std::uintptr_t>(from) - length;
        if (gap <= kClose)
            return onward_(to, from, length);
        if (next != nullptr)
            for (std::size_t at = 0; at < std::min(length, kFirst); at += kLine)
                __builtin_prefetch(static_cast<const std::byte*>(next) + at, 0, kSecondLevel);
        alone_(to, from, length);
    }

    constexpr bool operator==(const PayloadCopy&) const noexcept = default;

  private:
    static constexpr std::size_t kLine = 64;
    static constexpr std::size_t kClose = 1024;  ///< bytes; more lines are not worth reading in vain
    static constexpr std::size_t kFirst = 1024;  ///< bytes; from memory, 1.1 times as fast as 256 (Zen 4)
    static constexpr int kSecondLevel = 2;       ///< of the cache; see kAhead

    CopyFunction alone_;
    CopyFunction onward_;
};

/// Holds the copies of one instruction set. Where it has no non-temporal stores, both are the same.
struct CopyChoice {
    const char* name;  ///< "avx512", "avx2" or "memcpy"
    PayloadCopy cached;
    PayloadCopy streaming;

    const PayloadCopy& with(Stores stores) const noexcept {
        return stores == Stores::cached ? cached : streaming;
    }
    bool streams() const noexcept { return cached != streaming; }
};

/// Returns the best copies that this machine can run, chosen once by the CPU's features: the rest of the
/// program is built for Debian's x86-64 baseline.
const CopyChoice& payload_copies() noexcept;

/// Returns all that this machine can run, the best first; for tests and comparisons.
std::span<const CopyChoice> all_payload_copies() noexcept;

}  // namespace spead::memory
