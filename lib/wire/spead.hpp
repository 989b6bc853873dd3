// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_order.hpp"
#include "wire/flavour.hpp"

/// Parses the SPEAD packet: an 8-byte header, item pointers of 8 bytes each, then the payload.
///
///     byte 0    0x53        byte 2    width of an item id in bytes, mode bit included: 8 - XX/8
///     byte 1    0x04        byte 3    width of a heap address in bytes: XX/8
///     byte 4-5  reserved    byte 6-7  number of item pointers, big-endian
///
/// Source: SPEAD specification (2012), "Packet structure"; the order of the checks is spead2's.
namespace spead::wire {

inline constexpr std::size_t kSpeadHeader = 8;
inline constexpr std::size_t kItemPointer = 8;
inline constexpr std::uint8_t kSpeadMagic = 0x53;
inline constexpr std::uint8_t kSpeadVersion = 4;

/// Means that the packet has no heap length.
inline constexpr std::uint64_t kUnknownLength = ~0ULL;

/// Names the bits of SpeadPacket::flags. A regular pointer is one that is neither a packet special nor a NULL
/// (in either mode).
inline constexpr std::uint8_t kHasControl = 1;   ///< an immediate STREAM_CTRL is present
inline constexpr std::uint8_t kHasStop = 2;      ///< an immediate STREAM_CTRL with the value 2
inline constexpr std::uint8_t kOnlyControl = 4;  ///< kHasControl and not kHasItems
inline constexpr std::uint8_t kHasItems = 8;     ///< a regular pointer other than an immediate STREAM_CTRL

/// Holds the fields of a packet. Lengths and offsets are bytes.
struct SpeadPacket {
    std::uint64_t heap_cnt;
    std::uint64_t heap_length;  ///< kUnknownLength if the packet has none
    std::uint64_t
        payload_offset;  ///< in the heap; payload_offset + payload_length <= heap_length, never wraps
    std::uint32_t payload_length;  ///< header_length + payload_length is the datagram's length
    std::uint32_t header_length;   ///< 8 + 8 * n_items; where the payload starts in the datagram
    std::uint16_t n_items;         ///< item pointers, at byte 8 of the datagram
    std::uint16_t first_item;      ///< index of the first pointer that is no packet special; n_items if none.
                                   ///< Specials may follow it: skip those with is_packet_special
    std::uint8_t address_bits;     ///< Flavour(address_bits) is valid
    std::uint8_t flags;            ///< kHas...
    std::uint64_t item_extent;     ///< highest address of any addressed pointer, NULL included; 0 if none

    bool operator==(const SpeadPacket&) const = default;
};

enum class SpeadError : std::uint8_t {
    none,
    too_short,         ///< no room for the header
    bad_magic,         ///< not SPEAD version 4
    bad_widths,        ///< a width is 0, or they do not add up to 64 bits
    truncated_items,   ///< more item pointers than bytes
    missing_special,   ///< HEAP_CNT, PAYLOAD_OFFSET or PAYLOAD_LENGTH is missing as an immediate
    payload_overflow,  ///< PAYLOAD_LENGTH exceeds the datagram
    past_heap_length,  ///< the payload ends beyond HEAP_LENGTH
    size_mismatch,     ///< bytes after the payload
    count_
};

/// Returns the error's name for logs: "too_short" and so on.
std::string_view name_of(SpeadError error) noexcept;

/// Returns the raw item pointer `index` of the packet that starts at `head`.
inline std::uint64_t load_pointer(const std::uint8_t* head, std::size_t index) noexcept {
    return load_be64(head + kSpeadHeader + kItemPointer * index);
}

/// Reads the packet in a datagram of `datagram_length` bytes whose first `head_length` bytes are contiguous
/// at `head`.
///
/// head_length >= min(datagram_length, spead_header_need(head, head_length)); nothing beyond either length is
/// read, and a shorter head gives truncated_items. `out` is unspecified unless the result is `none`. A
/// repeated special counts with its last value; a special with an address is a regular item; the reserved
/// bytes are ignored.
SpeadError parse_spead(const std::uint8_t* head, std::size_t head_length, std::size_t datagram_length,
                       SpeadPacket& out) noexcept;

/// Reads the packet at the start of `length` contiguous bytes, which other bytes may follow (the value of a
/// descriptor item, a byte stream). As parse_spead, but never size_mismatch; the packet ends at header_length
/// + payload_length.
SpeadError parse_spead_prefix(const std::uint8_t* bytes, std::size_t length, SpeadPacket& out) noexcept;

/// Returns how many bytes of a datagram must be contiguous for parse_spead to judge it. These are 8 while
/// fewer are given, or when they already decide that it is no SPEAD packet; else 8 + 8 * n_items (up to
/// 524288: the caller limits it to the datagram's length).
std::size_t spead_header_need(const std::uint8_t* head, std::size_t head_length) noexcept;

}  // namespace spead::wire
