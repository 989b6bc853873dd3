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

/// Recognises the usual packet quickly.
namespace spead::wire {

/// Remembers the shape of a packet that parse_spead accepted: its first 8 bytes, and the mode and id of each
/// of its pointers. A later packet of the same shape differs only in values, so one masked comparison and the
/// lengths check it. Not thread-safe; an instance belongs to one lcore.
///
/// Not every shape is learned: more than kMaxPointers pointers, or an immediate STREAM_CTRL (its value
/// decides a flag), leave the template matching nothing.
class SpeadTemplate {
  public:
    static constexpr std::size_t kMaxPointers = 16;

    /// Returns whether there is a shape to match.
    bool learned() const noexcept { return header_length_ != kNothing; }

    /// Learns the shape of the packet at `head`, for which parse_spead returned `none` and `packet`.
    void learn(const std::uint8_t* head, const SpeadPacket& packet) noexcept;

    /// Matches nothing until the next learn.
    void forget() noexcept { header_length_ = kNothing; }

    /// Holds the values that differ between packets of one shape.
    struct Values {
        std::uint64_t heap_cnt;
        std::uint64_t heap_length;  ///< kUnknownLength if the shape has none
        std::uint64_t payload_offset;
        std::uint64_t item_extent;
        std::uint32_t payload_length;
    };

    /// Returns true when the packet has the remembered shape and breaks no rule; then `values` and shape()
    /// together are the result of parse_spead. Returns false when nothing is known about it: call
    /// parse_spead; `values` is unspecified. Lengths as in parse_spead; no byte at or beyond either of them
    /// is read.
    [[gnu::always_inline]] bool match_values(const std::uint8_t* head, std::size_t head_length,
                                             std::size_t datagram_length, Values& values) const noexcept {
        const std::size_t header_length = header_length_;
        if ((head_length < header_length) | (datagram_length < header_length)) [[unlikely]]
            return false;
        // Network order on both sides: only equality matters. Header and pointers two words at a time; the
        // last pair overlaps the one before it when their number is odd. No packet has fewer than four words.
        Pair differs = difference(head, 0) & first_mask_;
        Pair others = difference(head, 16) | difference(head, header_length - 16);
        for (std::size_t at = 32; at + 16 < header_length; at += 16)
            others |= difference(head, at);
        differs |= others & mask_;

        const std::uint64_t value_mask = value_mask_[0];
        const std::uint64_t heap_length =
            (load_be64(head + heap_length_at_) & value_mask) | no_heap_length_[1];
        const std::uint64_t offset = load_be64(head + offset_at_) & value_mask;
        const std::uint64_t length = load_be64(head + length_at_) & value_mask;
        std::uint64_t extent = 0;
        for (std::size_t i = 0; i < n_addressed_; ++i)
            extent = std::max(extent, load_be64(head + addressed_at_[i]) & value_mask);
        values.heap_cnt = load_be64(head + cnt_at_) & value_mask;
        values.heap_length = heap_length;
        values.payload_offset = offset;
        values.item_extent = extent;
        values.payload_length = static_cast<std::uint32_t>(length);
        const bool fits = (length == datagram_length - header_length) & (length <= UINT32_MAX) &
                          (offset + length <= heap_length);
        return ((differs[0] | differs[1]) == 0) & fits;
    }

    /// Returns the learned packet: every matching packet has its header_length, n_items, first_item,
    /// address_bits and flags.
    const SpeadPacket& shape() const noexcept { return proto_; }

    /// Does match_values and shape() together: `out` is exactly the result of parse_spead.
    [[gnu::always_inline]] bool match(const std::uint8_t* head, std::size_t head_length,
                                      std::size_t datagram_length, SpeadPacket& out) const noexcept {
        Values v;
        if (!match_values(head, head_length, datagram_length, v))
            return false;
        out = proto_;
        out.heap_cnt = v.heap_cnt;
        out.heap_length = v.heap_length;
        out.payload_offset = v.payload_offset;
        out.payload_length = v.payload_length;
        out.item_extent = v.item_extent;
        return true;
    }

  private:
    /// Holds two 64-bit words, in a vector register if the machine has them.
    using Pair [[gnu::vector_size(16)]] = std::uint64_t;

    /// Holds a length above that of any datagram's header.
    static constexpr std::size_t kNothing = SIZE_MAX;
    static constexpr std::size_t kMaxHeader = kSpeadHeader + kMaxPointers * kItemPointer;

    static Pair load(const std::uint8_t* at) noexcept {
        Pair v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }

    Pair difference(const std::uint8_t* head, std::size_t at) const noexcept {
        return load(head + at) ^ load(shape_.data() + at);
    }

    alignas(
        16) std::array<std::uint8_t, kMaxHeader + 8> shape_{};  ///< header and pointers of the packet learned
    Pair first_mask_{};      ///< the bits that must be the same: of the header and the first pointer
    Pair mask_{};            ///< of two other pointers
    Pair value_mask_{};      ///< the bits of value or address, host order, twice
    Pair no_heap_length_{};  ///< second word: kUnknownLength if the shape has no HEAP_LENGTH
    SpeadPacket proto_{};    ///< the packet learned
    std::size_t header_length_ = kNothing;
    std::uint16_t cnt_at_ = 0, heap_length_at_ = 0, offset_at_ = 0, length_at_ = 0;  ///< from `head`
    std::uint16_t n_addressed_ = 0;
    std::array<std::uint16_t, kMaxPointers> addressed_at_{};  ///< addressed pointers, from `head`
};

}  // namespace spead::wire
