// SPDX-License-Identifier: BSD-3-Clause
#include "wire/spead.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace spead::wire {
namespace {

/// Checks the first four bytes: magic, version and the two widths. Returns `none` or the error.
SpeadError check_start(const std::uint8_t* head) noexcept {
    if (head[0] != kSpeadMagic || head[1] != kSpeadVersion)
        return SpeadError::bad_magic;
    if (head[2] == 0 || head[3] == 0 || head[2] + head[3] != 8)
        return SpeadError::bad_widths;
    return SpeadError::none;
}

[[gnu::always_inline]] inline SpeadError parse(const std::uint8_t* head, std::size_t head_length,
                                               std::size_t datagram_length, bool more_may_follow,
                                               SpeadPacket& out) noexcept {
    const std::size_t readable = std::min(head_length, datagram_length);
    if (readable < kSpeadHeader)
        return SpeadError::too_short;
    if (const SpeadError error = check_start(head); error != SpeadError::none)
        return error;
    const Flavour flavour(head[3] * 8U);
    const std::size_t n_items = load_be16(head + 6);
    const std::size_t header_length = kSpeadHeader + kItemPointer * n_items;
    if (header_length > readable)
        return SpeadError::truncated_items;

    // Values of the four specials, by id. kUnknownLength, larger than any value on the wire, is "not seen".
    std::array<std::uint64_t, 5> special;
    special.fill(kUnknownLength);
    std::size_t first_item = n_items;
    std::uint64_t extent = 0;
    std::uint8_t flags = 0;
    for (std::size_t i = 0; i < n_items; ++i) {
        const std::uint64_t raw = load_pointer(head, i);
        const std::uint64_t id = flavour.id(raw);
        const std::uint64_t value = flavour.value(raw);
        const bool immediate = flavour.is_immediate(raw);
        if (immediate && id >= item::kHeapCnt && id <= item::kPayloadLength) {
            special[id] = value;
            continue;
        }
        first_item = std::min(first_item, i);
        if (!immediate)
            extent = std::max(extent, value);
        if (id == item::kNull)
            continue;
        if (immediate && id == item::kStreamCtrl)
            flags |= value == stream_ctrl::kStop ? kHasControl | kHasStop : kHasControl;
        else
            flags |= kHasItems;
    }
    const std::uint64_t heap_length = special[item::kHeapLength];
    const std::uint64_t offset = special[item::kPayloadOffset];
    const std::uint64_t length = special[item::kPayloadLength];
    if (special[item::kHeapCnt] == kUnknownLength || offset == kUnknownLength || length == kUnknownLength)
        return SpeadError::missing_special;
    const std::size_t room = datagram_length - header_length;
    if (length > room || length > std::numeric_limits<std::uint32_t>::max())
        return SpeadError::payload_overflow;
    if (offset + length > heap_length)  // both below 2^56: the sum cannot wrap
        return SpeadError::past_heap_length;
    if (length != room && !more_may_follow)
        return SpeadError::size_mismatch;

    if ((flags & (kHasControl | kHasItems)) == kHasControl)
        flags |= kOnlyControl;
    out.heap_cnt = special[item::kHeapCnt];
    out.heap_length = heap_length;
    out.payload_offset = offset;
    out.payload_length = static_cast<std::uint32_t>(length);
    out.header_length = static_cast<std::uint32_t>(header_length);
    out.n_items = static_cast<std::uint16_t>(n_items);
    out.first_item = static_cast<std::uint16_t>(first_item);
    out.address_bits = static_cast<std::uint8_t>(flavour.address_bits());
    out.flags = flags;
    out.item_extent = extent;
    return SpeadError::none;
}

}  // namespace

std::string_view name_of(SpeadError error) noexcept {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(SpeadError::count_)> names{
        "none",
        "too_short",
        "bad_magic",
        "bad_widths",
        "truncated_items",
        "missing_special",
        "payload_overflow",
        "past_heap_length",
        "size_mismatch"};
    const auto index = static_cast<std::size_t>(error);
    return index < names.size() ? names[index] : "unknown";
}

SpeadError parse_spead(const std::uint8_t* head, std::size_t head_length, std::size_t datagram_length,
                       SpeadPacket& out) noexcept {
    return parse(head, head_length, datagram_length, false, out);
}

SpeadError parse_spead_prefix(const std::uint8_t* bytes, std::size_t length, SpeadPacket& out) noexcept {
    return parse(bytes, length, length, true, out);
}

std::size_t spead_header_need(const std::uint8_t* head, std::size_t head_length) noexcept {
    if (head_length < kSpeadHeader || check_start(head) != SpeadError::none)
        return kSpeadHeader;
    return kSpeadHeader + kItemPointer * load_be16(head + 6);
}

}  // namespace spead::wire
