// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Loads and stores big-endian (network order) integers at any alignment.
///
/// The caller guarantees that the bytes exist; nothing here checks a length.
namespace spead {

static_assert(std::endian::native == std::endian::little, "only little-endian hosts are supported");

constexpr std::uint16_t byte_swap(std::uint16_t v) noexcept {
    return __builtin_bswap16(v);
}
constexpr std::uint32_t byte_swap(std::uint32_t v) noexcept {
    return __builtin_bswap32(v);
}
constexpr std::uint64_t byte_swap(std::uint64_t v) noexcept {
    return __builtin_bswap64(v);
}

template <typename T>
inline T load_be(const void* at) noexcept {
    T v;
    std::memcpy(&v, at, sizeof v);
    return byte_swap(v);
}

template <typename T>
inline void store_be(void* at, T v) noexcept {
    v = byte_swap(v);
    std::memcpy(at, &v, sizeof v);
}

inline std::uint16_t load_be16(const void* at) noexcept {
    return load_be<std::uint16_t>(at);
}
inline std::uint32_t load_be32(const void* at) noexcept {
    return load_be<std::uint32_t>(at);
}
inline std::uint64_t load_be64(const void* at) noexcept {
    return load_be<std::uint64_t>(at);
}
inline void store_be16(void* at, std::uint16_t v) noexcept {
    store_be(at, v);
}
inline void store_be32(void* at, std::uint32_t v) noexcept {
    store_be(at, v);
}
inline void store_be64(void* at, std::uint64_t v) noexcept {
    store_be(at, v);
}

}  // namespace spead
