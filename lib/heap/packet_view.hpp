// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// Describes one packet for the window, as a decoder has read it. No code after this struct knows the packet
/// format, except that items are 8-byte words, kept as received.
namespace spead::heap {

inline constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};

struct PacketView {
    enum Flag : std::uint8_t {
        kControl = 1,  ///< the packet carries stream control
        kStop = 2,     ///< ... and it says stop
        kItems = 4,    ///< the packet carries items of data
    };

    std::uint64_t key = 0;                       ///< heap count; packets of one heap share it
    std::uint64_t heap_length = kUnknownLength;  ///< bytes, or kUnknownLength
    /// Holds the place of the payload in the heap. offset + payload_length <= heap_length if that is known,
    /// and never wraps: the decoder guarantees it, the window places payload by it.
    std::uint64_t offset = 0;
    std::uint64_t item_extent = 0;        ///< highest heap address in an item word; 0 without items
    std::uint64_t arrival = 0;            ///< ticks of the lcore's clock
    const std::uint8_t* items = nullptr;  ///< item words, big-endian, as received; valid during accept
    std::uint32_t item_count = 0;
    std::uint32_t payload_length = 0;  ///< bytes
    std::uint32_t source = 0;          ///< sender's IPv4 address, host order
    std::uint8_t flavour = 0;          ///< must not change within a heap
    std::uint8_t flags = 0;

    /// Returns the offset behind the payload.
    std::uint64_t end() const noexcept { return offset + payload_length; }
};

}  // namespace spead::heap
