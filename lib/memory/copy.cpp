// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace spead::memory {

namespace {

void copy_libc(void* to, const void* from, std::size_t length) noexcept {
    std::memcpy(to, from, length);
}

#if defined(__x86_64__)

/// Copies whole vectors from the front, then one that ends at the last byte and overlaps the former.
__attribute__((target("avx2"))) void copy_avx2(void* to, const void* from, std::size_t length) noexcept {
    if (length < 32) {
        std::memcpy(to, from, length);
        return;
    }
    auto* d = static_cast<char*>(to);
    const auto* s = static_cast<const char*>(from);
    char* const last_to = d + length - 32;
    const __m256i last = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + length - 32));
    for (; length >= 128; length -= 128, d += 128, s += 128) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + 32));
        const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + 64));
        const __m256i e = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + 96));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d), a);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + 32), b);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + 64), c);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + 96), e);
    }
    for (; length > 32; length -= 32, d += 32, s += 32)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(last_to), last);
}

__attribute__((target("avx512f"))) void copy_avx512(void* to, const void* from, std::size_t length) noexcept {
    if (length < 64) {
        std::memcpy(to, from, length);
        return;
    }
    auto* d = static_cast<char*>(to);
    const auto* s = static_cast<const char*>(from);
    char* const last_to = d + length - 64;
    const __m512i last = _mm512_loadu_si512(s + length - 64);
    for (; length >= 256; length -= 256, d += 256, s += 256) {
        const __m512i a = _mm512_loadu_si512(s);
        const __m512i b = _mm512_loadu_si512(s + 64);
        const __m512i c = _mm512_loadu_si512(s + 128);
        const __m512i e = _mm512_loadu_si512(s + 192);
        _mm512_storeu_si512(d, a);
        _mm512_storeu_si512(d + 64, b);
        _mm512_storeu_si512(d + 128, c);
        _mm512_storeu_si512(d + 192, e);
    }
    for (; length > 64; length -= 64, d += 64, s += 64)
        _mm512_storeu_si512(d, _mm512_loadu_si512(s));
    _mm512_storeu_si512(last_to, last);
}

#endif

/// Holds the implementations that the CPU can run, the best first.
struct Choices {
    std::array<CopyChoice, 3> list{};
    std::size_t count = 0;

    Choices() {
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
            list[count++] = {"avx512", copy_avx512};
        if (__builtin_cpu_supports("avx2"))
            list[count++] = {"avx2", copy_avx2};
#endif
        list[count++] = {"memcpy", copy_libc};
    }
};

const Choices& choices() {
    static const Choices c;
    return c;
}

}  // namespace

CopyFunction payload_copy() noexcept {
    return choices().list.front().function;
}

const char* payload_copy_name() noexcept {
    return choices().list.front().name;
}

std::span<const CopyChoice> payload_copies() noexcept {
    return {choices().list.data(), choices().count};
}

}  // namespace spead::memory
