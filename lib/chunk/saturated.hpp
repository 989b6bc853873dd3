// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

/// Adds and multiplies sizes that may exceed every limit: a result beyond kSaturated is kSaturated.
namespace spead::chunk {

/// Exceeds every size of a chunk.
inline constexpr std::uint64_t kSaturated = std::uint64_t{1} << 62;

constexpr std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kSaturated : std::min(sum, kSaturated);
}

constexpr std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kSaturated : std::min(product, kSaturated);
}

}  // namespace spead::chunk
