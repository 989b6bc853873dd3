// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Reads and writes bit fields in bytes, most significant bit first, as SPEAD's formats pack them.
namespace spead::wire {

/// Returns the `bits` <= 64 bits that start `at` bits into `bytes`; all of them must exist.
inline std::uint64_t read_bits(const std::uint8_t* bytes, std::uint64_t at, unsigned bits) noexcept {
    std::uint64_t value = 0;
    while (bits > 0) {
        const unsigned skip = static_cast<unsigned>(at % 8);
        const unsigned take = std::min(bits, 8 - skip);
        const unsigned byte = bytes[at / 8];
        value = value << take | ((byte >> (8 - skip - take)) & (0xFFU >> (8 - take)));
        at += take;
        bits -= take;
    }
    return value;
}

/// Stores the low `bits` <= 64 bits of `value` there. The bits must be 0 before.
inline void write_bits(std::uint8_t* bytes, std::uint64_t at, unsigned bits, std::uint64_t value) noexcept {
    while (bits > 0) {
        const unsigned skip = static_cast<unsigned>(at % 8);
        const unsigned take = std::min(bits, 8 - skip);
        const auto part = static_cast<unsigned>(value >> (bits - take)) & (0xFFU >> (8 - take));
        bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | part << (8 - skip - take));
        at += take;
        bits -= take;
    }
}

}  // namespace spead::wire
