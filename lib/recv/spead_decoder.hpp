// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heap/packet_view.hpp"
#include "recv/classifier.hpp"
#include "recv/flow_template.hpp"
#include "recv/format_decoder.hpp"
#include "wire/spead.hpp"
#include "wire/spead_template.hpp"

namespace spead::recv {

/// Decodes SPEAD datagrams into PacketViews, or those of a declared format.
///
/// A decoder is a class with decode(), learn(), header_need() and kMaxHeader. The lcore's loop is compiled
/// for it, and no code after the PacketView knows the format. One decoder per lane, since it remembers
/// shapes: a sender's first packet of a heap (with item pointers) and the others (without) usually have two.
class SpeadDecoder {
  public:
    /// Limits the header of a datagram.
    static constexpr std::size_t kMaxHeader = 65536;

    SpeadDecoder();

    /// Decodes packets of this format from now on, none of SPEAD. Before the first packet.
    void use(const wire::PacketFormat& format) { format_ = std::make_unique<FormatDecoder>(format); }
    /// Returns whether FlowTemplates may learn its packets: those of SPEAD.
    bool learns() const noexcept { return format_ == nullptr; }
    /// Returns whether it can keep view.items until the end of a batch, although they are not in the frame.
    bool keeps_items() const noexcept { return format_ != nullptr; }
    /// Keeps those of the last packet, if keeps_items().
    void keep_items() noexcept {
        if (format_)
            format_->keep_items();
    }

    /// Decodes a datagram. Returns true when `view` describes the packet, except for arrival and source.
    /// view.items points into `head` or into this decoder, until the next decode. Returns false when the
    /// packet is refused, for the reason refusal(). `payload_offset` is from `head`.
    [[gnu::always_inline]] bool decode(const std::uint8_t* head, std::size_t head_length,
                                       std::size_t datagram_length, heap::PacketView& view,
                                       std::uint32_t& payload_offset) noexcept {
        return decode_fast_path(head, head_length, datagram_length, view, payload_offset) ||
               decode_other(head, head_length, datagram_length, view, payload_offset);
    }

    /// Decodes a datagram of the format, all of which is at `head`; as decode() for such a stream.
    bool decode_format(const std::uint8_t* head, std::size_t length, heap::PacketView& view,
                       std::uint32_t& payload_offset) noexcept {
        return format_->decode(head, length, view, payload_offset) == PacketOutcome::placed;
    }

    /// Decodes a packet of the same shape as the one before; false says nothing about others.
    [[gnu::always_inline]] bool decode_fast_path(const std::uint8_t* head, std::size_t head_length,
                                                 std::size_t datagram_length, heap::PacketView& view,
                                                 std::uint32_t& payload_offset) const noexcept {
        const wire::SpeadTemplate& usual = templates_[recent_];
        wire::SpeadTemplate::Values v;
        if (!usual.match_values(head, head_length, datagram_length, v)) [[unlikely]]
            return false;
        view.key = v.heap_cnt;
        view.heap_length = v.heap_length;
        view.offset = v.payload_offset;
        view.item_extent = v.item_extent;
        view.payload_length = v.payload_length;
        const Shape& shape = shapes_[recent_];
        view.items = head + shape.items_at;
        view.item_count = shape.item_count;
        view.flavour = shape.flavour;
        view.flags = shape.flags;
        payload_offset = shape.payload_at;
        return true;
    }

    /// Prepares `flow` for packets like the one that decode() has just accepted at frame +
    /// udp.payload_offset.
    template <class Ip>
    static void learn(BasicFlowTemplate<Ip>& flow, const std::uint8_t* frame, const wire::UdpView& udp,
                      const Target& target, std::uint32_t max_packet_size) noexcept {
        wire::SpeadPacket p;
        const std::uint8_t* const datagram = frame + udp.payload_offset;
        if (wire::parse_spead(datagram, udp.payload_length, udp.payload_length, p) == wire::SpeadError::none)
            flow.learn(frame, udp, p, target.by_source, target.lane, target.endpoint, max_packet_size);
    }

    /// Returns how many contiguous bytes decode() needs of a datagram of which `head_length` bytes are at
    /// `head`.
    std::size_t header_need(const std::uint8_t* head, std::size_t head_length) const noexcept {
        return format_ ? format_->header() : wire::spead_header_need(head, head_length);
    }
    /// Returns the outcome of the packet that decode() has just refused.
    PacketOutcome refusal() const noexcept { return refusal_; }

  private:
    /// Holds the common properties of one template's PacketViews.
    struct Shape {
        std::uint32_t items_at = 0;
        std::uint32_t item_count = 0;
        std::uint32_t payload_at = 0;
        std::uint8_t flavour = 0;
        std::uint8_t flags = 0;
    };

    bool decode_other(const std::uint8_t* head, std::size_t head_length, std::size_t datagram_length,
                      heap::PacketView& view, std::uint32_t& payload_offset) noexcept;

    std::array<wire::SpeadTemplate, 2> templates_;
    std::array<Shape, 2> shapes_;
    unsigned recent_ = 0;
    PacketOutcome refusal_ = PacketOutcome::malformed;
    std::unique_ptr<FormatDecoder> format_;  ///< null: SPEAD
    std::vector<std::uint8_t> scratch_;      ///< item words of a packet with specials among them
};

/// Calls `learn(flows, headers)` with the templates of the datagram's IP, and the bytes of all headers before
/// it. Does nothing if these are not the usual ones.
template <class Learn>
void learn_usual(FlowCache& flows, FlowCache6& flows6, const wire::UdpView& udp, Learn learn) noexcept {
    if (udp.ipv6) {
        if (udp.payload_offset == wire::kNetHeader6)
            learn(flows6, std::uint32_t{wire::kNetHeader6});
    } else if (udp.payload_offset == wire::kNetHeader) {
        learn(flows, std::uint32_t{wire::kNetHeader});
    }
}

}  // namespace spead::recv
