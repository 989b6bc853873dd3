// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "wire/flavour.hpp"
#include "wire/spead.hpp"

/// The short way through the usual packet.
namespace spead::wire {

/// Remembers the shape of a packet that parse_spead accepted: its first 8 bytes, and the mode and id of each
/// of its pointers. A later packet of the same shape differs only in values, so its checks come down to one
/// masked comparison and the lengths. Not thread-safe; an instance belongs to one lcore.
///
/// Not every shape is learned: more than kMaxPointers pointers, or an immediate STREAM_CTRL (its value
/// decides a flag), leave the template matching nothing.
class SpeadTemplate {
  public:
    static constexpr std::size_t kMaxPointers = 16;

    /// Whether there is anything to match.
    bool learned() const noexcept { return header_length_ != kNothing; }

    /// Takes over the shape of the packet at `head`, for which parse_spead returned `none` and `packet`.
    void learn(const std::uint8_t* head, const SpeadPacket& packet) noexcept;

    /// Matches nothing until the next learn.
    void forget() noexcept { header_length_ = kNothing; }

    /// True: the packet has the remembered shape and breaks no rule, and `out` is exactly what parse_spead
    /// would give. False: nothing is known about it, ask parse_spead; `out` is unspecified. Lengths as in
    /// parse_spead; no byte at or beyond either of them is read.
    [[gnu::always_inline]] bool match(const std::uint8_t* head, std::size_t head_length,
                                      std::size_t datagram_length, SpeadPacket& out) const noexcept {
        const std::size_t header_length = header_length_;
        if ((head_length < header_length) | (datagram_length < header_length)) [[unlikely]]
            return false;
        // Network order on both sides: only equality matters. The first word is always there and compared
        // whole.
        std::uint64_t differs = load(head) ^ start_;
        const std::size_t n = proto_.n_items;
        for (std::size_t i = 0; i < n; ++i)
            differs |= (load(head + kSpeadHeader + kItemPointer * i) ^ shape_[i]) & shape_mask_;

        out = proto_;
        out.heap_cnt = load_be64(head + cnt_at_) & value_mask_;
        out.payload_offset = load_be64(head + offset_at_) & value_mask_;
        out.heap_length = (load_be64(head + heap_length_at_) & value_mask_) | no_heap_length_;
        const std::uint64_t length = load_be64(head + length_at_) & value_mask_;
        out.payload_length = static_cast<std::uint32_t>(length);
        std::uint64_t extent = 0;
        for (std::size_t i = 0; i < n_addressed_; ++i)
            extent = std::max(extent, load_be64(head + addressed_at_[i]) & value_mask_);
        out.item_extent = extent;
        const bool fits = (length == datagram_length - header_length) & (length <= UINT32_MAX) &
                          (out.payload_offset + length <= out.heap_length);
        return (differs == 0) & fits;
    }

  private:
    /// A header longer than any datagram.
    static constexpr std::size_t kNothing = SIZE_MAX;

    static std::uint64_t load(const std::uint8_t* at) noexcept {
        std::uint64_t v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }

    SpeadPacket proto_{};  ///< what all packets of this shape have in common
    std::size_t header_length_ = kNothing;
    std::uint64_t start_ = 0;           ///< first 8 bytes, as loaded
    std::uint64_t shape_mask_ = 0;      ///< the bits of mode and id, as loaded
    std::uint64_t value_mask_ = 0;      ///< the bits of value or address, host order
    std::uint64_t no_heap_length_ = 0;  ///< kUnknownLength if the shape has no HEAP_LENGTH, else 0
    std::uint16_t cnt_at_ = 0, heap_length_at_ = 0, offset_at_ = 0, length_at_ = 0;  ///< from `head`
    std::uint16_t n_addressed_ = 0;
    std::array<std::uint16_t, kMaxPointers> addressed_at_{};  ///< addressed pointers, from `head`
    std::array<std::uint64_t, kMaxPointers> shape_{};         ///< mode and id, as loaded
};

}  // namespace spead::wire
