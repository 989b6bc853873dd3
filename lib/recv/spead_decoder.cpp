// SPDX-License-Identifier: BSD-3-Clause
#include "recv/spead_decoder.hpp"

#include <cstring>

#include "wire/flavour.hpp"

namespace spead::recv {

SpeadDecoder::SpeadDecoder() : scratch_(kMaxHeader) {}

bool SpeadDecoder::decode_other(const std::uint8_t* head, std::size_t head_length,
                                std::size_t datagram_length, heap::PacketView& view,
                                std::uint32_t& payload_offset) noexcept {
    static_assert(heap::kUnknownLength == wire::kUnknownLength);
    if (format_) {
        refusal_ = format_->decode(head, datagram_length, view, payload_offset);
        return refusal_ == PacketOutcome::placed;
    }
    recent_ ^= 1U;
    if (decode_fast_path(head, head_length, datagram_length, view, payload_offset))
        return true;
    wire::SpeadPacket p;
    if (wire::parse_spead(head, head_length, datagram_length, p) != wire::SpeadError::none)
        return false;
    view.key = p.heap_cnt;
    view.heap_length = p.heap_length;
    view.offset = p.payload_offset;
    view.item_extent = p.item_extent;
    view.payload_length = p.payload_length;
    view.items = head + wire::kSpeadHeader + wire::kItemPointer * p.first_item;
    view.item_count = static_cast<std::uint32_t>(p.n_items - p.first_item);
    view.flavour = p.address_bits;
    view.flags =
        static_cast<std::uint8_t>(((p.flags & wire::kHasControl) != 0 ? heap::PacketView::kControl : 0) |
                                  ((p.flags & wire::kHasStop) != 0 ? heap::PacketView::kStop : 0) |
                                  ((p.flags & wire::kHasItems) != 0 ? heap::PacketView::kItems : 0));
    payload_offset = p.header_length;

    const wire::Flavour flavour(p.address_bits);
    std::uint32_t kept = 0;
    for (std::uint32_t i = p.first_item; i < p.n_items; i++) {
        if (wire::is_packet_special(wire::load_pointer(head, i), flavour))
            continue;
        std::memcpy(scratch_.data() + std::size_t{kept} * 8, head + wire::kSpeadHeader + std::size_t{i} * 8,
                    8);
        kept++;
    }
    if (kept != view.item_count) {
        view.items = scratch_.data();
        view.item_count = kept;
        return true;
    }
    templates_[recent_].learn(head, p);
    shapes_[recent_] = {static_cast<std::uint32_t>(view.items - head), view.item_count, payload_offset,
                        view.flavour, view.flags};
    return true;
}

}  // namespace spead::recv
