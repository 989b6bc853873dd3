// SPDX-License-Identifier: BSD-3-Clause
#include "base/verify_sequence.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_order.hpp"

namespace spead {

namespace {

constexpr std::uint32_t kMultiplier = 48271;
constexpr std::uint32_t kModulus = 2147483647;  // 2^31 - 1
static_assert(kVerifyPeriod == kModulus - 1);

/// Returns a * b mod 2^31-1 for a, b in [1, 2^31-2]. 2^31 is 1 modulo a Mersenne prime, so the high bits are
/// added to the low ones, and one subtraction finishes. Written without a branch, so that a loop of them
/// becomes vector instructions.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
    const std::uint64_t product = std::uint64_t{a} * b;
    const std::uint32_t sum =
        static_cast<std::uint32_t>(product & kModulus) + static_cast<std::uint32_t>(product >> 31);
    const std::uint32_t reduced = sum - kModulus;  // wraps to a large value when sum is already in range
    return sum < reduced ? sum : reduced;
}

// Modular exponentiation eight exponent bits at a time: kPowers[w][d] = kMultiplier ^ (d * 256^w).
constexpr std::size_t kWindows = 4;
using Powers = std::array<std::array<std::uint32_t, 256>, kWindows>;

constexpr Powers make_powers() noexcept {
    Powers powers{};
    std::uint32_t base = kMultiplier;
    for (auto& window : powers) {
        window[0] = 1;
        for (std::size_t d = 1; d < window.size(); d++)
            window[d] = multiply(window[d - 1], base);
        base = multiply(window.back(), base);
    }
    return powers;
}
constexpr Powers kPowers = make_powers();

/// Returns kMultiplier ^ exponent; exponent below 2^32.
std::uint32_t power(std::uint64_t exponent) noexcept {
    std::uint32_t result = kPowers[0][exponent & 0xFF];
    for (std::size_t w = 1; w < kWindows; w++)
        result = multiply(result, kPowers[w][exponent >> (8 * w) & 0xFF]);
    return result;
}

/// Computes sixteen words at a time: lane i holds every 16th word, so the lanes' multiplications do not wait
/// for each other.
class Lanes {
  public:
    static constexpr std::size_t kWords = 16;
    static constexpr std::size_t kBytes = kWords * 4;

    explicit Lanes(std::uint32_t first) noexcept {
        for (std::size_t i = 0; i < kWords; i++)
            x_[i] = multiply(first, kPowers[0][i]);
    }

    /// Writes the next blocks * 64 bytes.
    void write(std::byte* to, std::size_t blocks) noexcept {
        std::array<std::uint32_t, kWords> x = x_;  // a copy that `to` cannot alias stays in registers
        for (std::size_t block = 0; block < blocks; block++) {
            std::array<std::uint32_t, kWords> out;
            for (std::size_t i = 0; i < kWords; i++)
                out[i] = byte_swap(x[i]);
            std::memcpy(to + block * kBytes, out.data(), kBytes);
            constexpr std::uint32_t step = kPowers[0][kWords];
#if defined(__GNUC__) && !defined(__clang__)
// Unrolled whole, this loop becomes scalar code at half the speed.
#pragma GCC unroll 1
#endif
            for (std::size_t i = 0; i < kWords; i++)
                x[i] = multiply(x[i], step);
        }
        x_ = x;
    }

  private:
    std::array<std::uint32_t, kWords> x_;
};

/// Holds a place in the sequence: a word, and how many of its bytes come before.
struct Place {
    std::uint64_t word;
    std::size_t skip;
};

Place place_of(std::uint64_t first_word, std::uint64_t byte_offset) noexcept {
    const std::uint64_t word = (first_word % kVerifyPeriod + byte_offset / 4) % kVerifyPeriod;
    return {word, static_cast<std::size_t>(byte_offset % 4)};
}

/// Holds the bytes of the place's word that come after `skip`; at most `size` of them are wanted.
struct Head {
    std::array<std::byte, 4> bytes;
    std::size_t size;
};

Head head_of(Place place, std::size_t size) noexcept {
    Head head{{}, std::min(4 - place.skip, size)};
    std::array<std::byte, 4> word;
    store_be32(word.data(), verify_word(place.word));
    std::copy_n(word.begin() + static_cast<std::ptrdiff_t>(place.skip), head.size, head.bytes.begin());
    return head;
}

std::size_t first_difference(const std::byte* a, const std::byte* b, std::size_t size) noexcept {
    return static_cast<std::size_t>(std::mismatch(a, a + size, b).first - a);
}

}  // namespace

std::uint32_t verify_word(std::uint64_t index) noexcept {
    return power(index % kVerifyPeriod + 1);
}

std::uint64_t verify_heap_start(std::uint64_t heap_count, std::uint64_t words_per_heap) noexcept {
    // Both factors are below 2^31, so the product fits.
    const std::uint64_t heaps = (heap_count % kVerifyPeriod + kVerifyPeriod - 1) % kVerifyPeriod;
    return heaps * (words_per_heap % kVerifyPeriod) % kVerifyPeriod;
}

void verify_generate(std::span<std::byte> to, std::uint64_t first_word, std::uint64_t byte_offset) noexcept {
    Place place = place_of(first_word, byte_offset);
    std::byte* at = to.data();
    std::size_t left = to.size();
    if (place.skip != 0) {
        const Head head = head_of(place, left);
        std::copy_n(head.bytes.begin(), head.size, at);
        at += head.size;
        left -= head.size;
        place.word++;
    }
    Lanes lanes(verify_word(place.word));
    const std::size_t blocks = left / Lanes::kBytes;
    lanes.write(at, blocks);
    at += blocks * Lanes::kBytes;
    left -= blocks * Lanes::kBytes;
    if (left > 0) {
        std::array<std::byte, Lanes::kBytes> last;
        lanes.write(last.data(), 1);
        std::copy_n(last.begin(), left, at);
    }
}

std::size_t verify_check(std::span<const std::byte> data, std::uint64_t first_word,
                         std::uint64_t byte_offset) noexcept {
    Place place = place_of(first_word, byte_offset);
    std::size_t done = 0;
    if (place.skip != 0) {
        const Head head = head_of(place, data.size());
        done = first_difference(data.data(), head.bytes.data(), head.size);
        if (done != head.size || done == data.size())
            return done;
        place.word++;
    }
    // Into a buffer that stays in the first-level cache, then memcmp, which the C library has for each
    // processor.
    std::array<std::byte, 16 * Lanes::kBytes> expected;
    Lanes lanes(verify_word(place.word));
    while (done < data.size()) {
        const std::size_t size = std::min(expected.size(), data.size() - done);
        lanes.write(expected.data(), (size + Lanes::kBytes - 1) / Lanes::kBytes);
        const std::byte* have = data.data() + done;
        if (std::memcmp(have, expected.data(), size) != 0)
            return done + first_difference(have, expected.data(), size);
        done += size;
    }
    return done;
}

}  // namespace spead
