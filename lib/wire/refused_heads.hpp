// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace spead::wire {

/// Holds the first bytes of a datagram: as many as the header of a known format has, if it has them.
struct DatagramHead {
    static constexpr std::size_t kMost = 96;

    std::array<std::uint8_t, kMost> bytes{};
    std::uint32_t have = 0;    ///< of `bytes`
    std::uint32_t length = 0;  ///< of the datagram; 0: there is none
};

/// Keeps the heads of few refused datagrams, for control code that finds out their format. Plain data; an
/// lcore notes datagrams.
struct RefusedHeads {
    static constexpr std::size_t kKept = 4;
    /// Says of how many datagrams, after the first ones, one is kept: a flood of them costs few copies.
    static constexpr std::uint64_t kOneOf = 256;

    std::array<DatagramHead, kKept> all{};
    std::uint64_t seen = 0;

    /// Notes a datagram of `length` bytes, of which the first `have` are at `head`.
    void note(const std::uint8_t* head, std::size_t have, std::size_t length) noexcept {
        const std::uint64_t n = seen++;
        if (n >= kKept && n % kOneOf != 0)
            return;
        DatagramHead& to = all[(n < kKept ? n : n / kOneOf) % kKept];
        to.have = static_cast<std::uint32_t>(std::min(have, DatagramHead::kMost));
        to.length = static_cast<std::uint32_t>(length);
        std::copy_n(head, to.have, to.bytes.data());
    }
};

}  // namespace spead::wire
