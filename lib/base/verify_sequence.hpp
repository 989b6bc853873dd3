// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Makes the data of `--verify`: big-endian 32-bit words of std::minstd_rand (x <- 48271 x mod 2^31-1, seed
/// 1), as spead2's tools make and check it, so that either program can check the other.
///
/// Any byte of the sequence can be reached directly (a jump is three modular multiplications). Functions are
/// pure, thread-safe, neither allocate nor throw, and may be used on any thread; they run near memory speed.
namespace spead {

/// Holds the words after which the sequence repeats: 48271 is a primitive root of the prime 2^31-1.
inline constexpr std::uint64_t kVerifyPeriod = 2147483646;

/// Returns word `index`, in host order; word 0 is 48271.
std::uint32_t verify_word(std::uint64_t index) noexcept;

/// Returns the index of the first word of the heap with count `heap_count` (counted from 1): (heap_count - 1)
/// * words_per_heap, taken modulo the period, so that no heap count overflows. For count 0 this is one heap
/// before the start.
std::uint64_t verify_heap_start(std::uint64_t heap_count, std::uint64_t words_per_heap) noexcept;

/// Writes bytes [byte_offset, byte_offset + size) of the sequence that starts with word `first_word`. Neither
/// the buffer nor the offset needs any alignment.
void verify_generate(std::span<std::byte> to, std::uint64_t first_word,
                     std::uint64_t byte_offset = 0) noexcept;

/// Compares with the data of verify_generate. Returns the position in `data` of the first byte that differs,
/// or data.size() when all are right.
std::size_t verify_check(std::span<const std::byte> data, std::uint64_t first_word,
                         std::uint64_t byte_offset = 0) noexcept;

}  // namespace spead
