// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/flavour.hpp"

namespace spead::send {

/// What may be done with a piece of payload.
enum class PieceKind : std::uint8_t {
    registered,    ///< inside one region: may be sent without a copy
    device,        ///< the same, and the CPU may not read it: can only be sent without a copy
    unregistered,  ///< user memory outside every region: always copied, and counted
    owned          ///< bytes the heap itself keeps (descriptors, padding): always copied
};

/// Payload bytes that are consecutive in the heap and in memory, of one kind.
struct Piece {
    const std::byte* data = nullptr;
    std::uint64_t length = 0;  ///< at least 1
    PieceKind kind = PieceKind::unregistered;

    bool operator==(const Piece&) const = default;
};

/// A heap cut for one packet size: everything the packetiser needs, worked out when the heap is submitted so
/// that the lcore only walks it. Read-only once made.
struct HeapLayout {
    wire::Flavour flavour;
    bool repeat_pointers = false;
    bool has_device = false;              ///< a piece of kind `device` is present
    std::uint32_t packet_size = 0;        ///< SPEAD bytes per packet at most, a multiple of 8
    std::uint32_t max_pointers = 0;       ///< item pointers per packet at most, besides the four specials
    std::vector<std::uint64_t> pointers;  ///< in network byte order
    std::vector<Piece> pieces;            ///< the payload in heap order, padding included
    std::uint64_t payload_length = 0;     ///< sum of the pieces, HEAP_LENGTH on the wire; at least 1
    std::uint64_t packets = 0;            ///< at least 1
};

}  // namespace spead::send
