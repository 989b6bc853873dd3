// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace spead::memory {

namespace {

void copy_libc(void* to, const void* from, std::size_t length) noexcept {
    std::memcpy(to, from, length);
}

#if defined(__x86_64__)

/// Holds how far ahead source lines are prefetched, into the second-level cache. Packets are too short for
/// the CPU to do so by itself. From memory, prefetches into the first-level cache take the places that its
/// misses need: 1408 B packets in order then are copied 1.5 times as fast, and random ones 1.1 times, with
/// this distance and level than with 512 B into the first (Zen 4). Packets in the second-level cache lose 6
/// %.
constexpr std::size_t kAhead = 2048;
constexpr std::size_t kLine = 64;
/// Says whether source lines behind the end are prefetched too.
enum class Ahead : std::uint8_t { within, beyond };

/// Holds the least length that is streamed: less has too few whole lines.
constexpr std::size_t kLeastStreamed = 4 * kLine;

// These are inlined: between instructions of AVX, those of SSE cost 150 ns (Zen 3). The compiler would split
// moves of 32 bytes in two, as the CPUs of the baseline want them.
#define SPEAD_AVX2 target("avx2,tune=haswell")
#define SPEAD_COPY_PART __attribute__((SPEAD_AVX2, always_inline)) inline

/// Copies `length` bytes with two moves that overlap, if they are as many as one moves.
template <std::size_t kMove>
SPEAD_COPY_PART bool copied_by(std::byte* to, const std::byte* from, std::size_t length) noexcept {
    if (length < kMove)
        return false;
    std::memcpy(to, from, kMove);
    std::memcpy(to + length - kMove, from + length - kMove, kMove);
    return true;
}

/// Copies at most a line.
SPEAD_COPY_PART void copy_part(std::byte* to, const std::byte* from, std::size_t length) noexcept {
    if (copied_by<32>(to, from, length) || copied_by<16>(to, from, length) ||
        copied_by<8>(to, from, length) || copied_by<4>(to, from, length))
        return;
    for (std::size_t i = 0; i < length; i++)
        to[i] = from[i];
}

SPEAD_COPY_PART void prefetch(const std::byte* at) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1);
}

template <Stores kStores>
SPEAD_COPY_PART void move_32(std::byte* to, const std::byte* from) noexcept {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (kStores == Stores::streaming)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v);
    else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}

template <Stores kStores>
__attribute__((target("avx512f"), always_inline)) inline void move_64(std::byte* to,
                                                                      const std::byte* from) noexcept {
    const __m512i v = _mm512_loadu_si512(from);
    if constexpr (kStores == Stores::streaming)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v);
    else
        _mm512_storeu_si512(to, v);
}

/// Moves all bytes up to the first whole line of the destination, which streaming stores need.
SPEAD_COPY_PART void align(std::byte*& to, const std::byte*& from, std::size_t& length) noexcept {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
    copy_part(to, from, head);
    to += head;
    from += head;
    length -= head;
}

/// Copies pairs of lines, then what is left. Streaming stores write whole lines only, and each once; the
/// others end with a vector that overlaps the one before.
template <Stores kStores, Ahead kReach>
__attribute__((SPEAD_AVX2)) void copy_avx2(void* to, const void* from, std::size_t length) noexcept {
    constexpr bool kStreams = kStores == Stores::streaming;
    auto* d = static_cast<std::byte*>(to);
    const auto* s = static_cast<const std::byte*>(from);
    if (length < 32)
        return copy_part(d, s, length);
    if constexpr (kStreams) {
        if (length < kLeastStreamed)
            return copy_avx2<Stores::cached, kReach>(to, from, length);
        align(d, s, length);
    }
    for (; length >= 2 * kLine; length -= 2 * kLine, d += 2 * kLine, s += 2 * kLine) {
        if (kReach == Ahead::beyond || length >= 2 * kLine + kAhead) {
            prefetch(s + kAhead);
            prefetch(s + kAhead + kLine);
        }
        move_32<kStores>(d, s);
        move_32<kStores>(d + 32, s + 32);
        move_32<kStores>(d + 64, s + 64);
        move_32<kStores>(d + 96, s + 96);
    }
    if constexpr (kStreams) {
        if (length >= kLine) {
            move_32<kStores>(d, s);
            move_32<kStores>(d + 32, s + 32);
            d += kLine;
            s += kLine;
            length -= kLine;
        }
        copy_part(d, s, length);
        return;
    }
    for (std::size_t at = 0; at + 32 < length; at += 32)
        move_32<kStores>(d + at, s + at);
    // Before d are bytes of this copy: it has 32 at least.
    move_32<kStores>(d + length - 32, s + length - 32);
}

/// Does the same with vectors of a line.
template <Stores kStores, Ahead kReach>
__attribute__((target("avx512f"))) void copy_avx512(void* to, const void* from, std::size_t length) noexcept {
    constexpr bool kStreams = kStores == Stores::streaming;
    auto* d = static_cast<std::byte*>(to);
    const auto* s = static_cast<const std::byte*>(from);
    if (length < kLine)
        return copy_part(d, s, length);
    if constexpr (kStreams) {
        if (length < kLeastStreamed)
            return copy_avx512<Stores::cached, kReach>(to, from, length);
        align(d, s, length);
    }
    for (; length >= 4 * kLine; length -= 4 * kLine, d += 4 * kLine, s += 4 * kLine) {
        if (kReach == Ahead::beyond || length >= 4 * kLine + kAhead)
            for (std::size_t i = 0; i < 4; i++)
                prefetch(s + kAhead + i * kLine);
        move_64<kStores>(d, s);
        move_64<kStores>(d + 64, s + 64);
        move_64<kStores>(d + 128, s + 128);
        move_64<kStores>(d + 192, s + 192);
    }
    std::size_t at = 0;
    for (; at + kLine < length + kStreams; at += kLine)
        move_64<kStores>(d + at, s + at);
    if constexpr (kStreams)
        copy_part(d + at, s + at, length - at);
    else
        move_64<kStores>(d + length - kLine, s + length - kLine);
}

#endif

/// Holds the implementations that the CPU can run, the best first.
struct Choices {
    std::vector<CopyChoice> list;

    Choices() {
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
            list.push_back(
                {"avx512",
                 {copy_avx512<Stores::cached, Ahead::within>, copy_avx512<Stores::cached, Ahead::beyond>},
                 {copy_avx512<Stores::streaming, Ahead::within>,
                  copy_avx512<Stores::streaming, Ahead::beyond>}});
        if (__builtin_cpu_supports("avx2"))
            list.push_back(
                {"avx2",
                 {copy_avx2<Stores::cached, Ahead::within>, copy_avx2<Stores::cached, Ahead::beyond>},
                 {copy_avx2<Stores::streaming, Ahead::within>, copy_avx2<Stores::streaming, Ahead::beyond>}});
#endif
        list.push_back({"memcpy", {copy_libc, copy_libc}, {copy_libc, copy_libc}});
    }
};

const Choices& choices() {
    static const Choices c;
    return c;
}

}  // namespace

const CopyChoice& payload_copies() noexcept {
    return choices().list.front();
}

std::span<const CopyChoice> all_payload_copies() noexcept {
    return choices().list;
}

}  // namespace spead::memory
