// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/flavour.hpp"
#include "wire/spead.hpp"

/// Cuts a heap into packets. Source: the packets that spead2's sender makes of the same heap; the SPEAD
/// specification leaves the cut to the sender.
namespace spead::send {

/// Counts HEAP_CNT, HEAP_LENGTH, PAYLOAD_OFFSET and PAYLOAD_LENGTH, which every packet has.
inline constexpr std::uint32_t kSpecials = 4;
/// Holds the bytes of a packet before its other item pointers.
inline constexpr std::uint32_t kPacketPrefix =
    static_cast<std::uint32_t>(wire::kSpeadHeader + kSpecials * wire::kItemPointer);
/// Holds the smallest packet size: prefix, one pointer, 8 bytes of payload.
inline constexpr std::size_t kMinPacketSize = kPacketPrefix + 16;

/// Says how a piece of payload may be sent.
enum class PieceKind : std::uint8_t {
    registered,    ///< inside one region: may be sent without a copy
    device,        ///< the same, but the CPU may not read it: can only be sent without a copy
    unregistered,  ///< user memory outside every region: always copied, and counted
    owned          ///< bytes of the heap itself (descriptors, padding): always copied
};

/// Holds payload bytes that are consecutive in the heap and in memory, of one kind.
struct Piece {
    const std::byte* data = nullptr;
    std::uint64_t length = 0;  ///< at least 1
    PieceKind kind = PieceKind::unregistered;

    bool operator==(const Piece&) const = default;
};

/// Holds a heap cut for one packet size: all data for the packetiser, computed at submission so that the
/// lcore only reads it. Read-only once made.
struct HeapLayout {
    wire::Flavour flavour;
    bool repeat_pointers = false;
    bool has_device = false;  ///< a piece of kind `device` is present
    bool has_unregistered = false;
    std::uint32_t packet_size = 0;     ///< largest packet in bytes, a multiple of 8
    std::uint32_t max_pointers = 0;    ///< most item pointers per packet besides the four specials
    std::uint64_t payload_length = 0;  ///< sum of the pieces, HEAP_LENGTH on the wire; at least 1
    std::uint64_t packets = 0;         ///< at least 1
    Piece only;  ///< the payload, if the heap is one packet with payload in one piece; else without data
    std::vector<std::uint64_t> pointers;  ///< in network byte order
    std::vector<Piece> pieces;            ///< the payload in heap order, padding included
};

/// Returns a packet size rounded down to a multiple of 8. Throws Error when it is below kMinPacketSize or
/// above the limit of a UDP datagram.
std::uint32_t usable_packet_size(std::size_t max_packet_size);

/// Returns how many item pointers fit a packet of `packet_size` (usable) bytes besides the specials, with 8
/// payload bytes kept free.
constexpr std::uint32_t max_pointers(std::uint32_t packet_size) noexcept {
    return (packet_size - kPacketPrefix - 8) / 8;
}

/// Returns the least payload bytes of a heap of `items` items. Every packet with pointers needs some, because
/// a receiver takes a packet without payload for a duplicate. Shorter payloads are padded.
std::uint64_t min_payload(std::uint64_t items, std::uint32_t max_pointers) noexcept;

/// Returns the number of packets of a layout whose other members are set.
std::uint64_t count_packets(const HeapLayout& layout) noexcept;

}  // namespace spead::send
