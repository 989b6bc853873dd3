// SPDX-License-Identifier: BSD-3-Clause
#include "recv/format_decoder.hpp"

#include <algorithm>

#include "wire/flavour.hpp"

namespace spead::recv {

static_assert(wire::Flavour::is_valid(wire::PacketFormat::kAddressBits));
static_assert(wire::PacketFormat::kLeastId > wire::item::kStreamCtrl);

FormatDecoder::FormatDecoder(const wire::PacketFormat& format)
    : reader_(format),
      stride_(std::max<std::size_t>(8, reader_.items() * std::size_t{8})),
      words_(kKept * stride_) {}

PacketOutcome FormatDecoder::decode(const std::uint8_t* head, std::size_t length, heap::PacketView& view,
                                    std::uint32_t& payload_offset) noexcept {
    std::uint8_t* const words = words_.data() + turn_ * stride_;
    wire::FormatReader::Packet packet;
    switch (reader_.read(head, length, words, packet)) {
        case wire::FormatReader::Verdict::good:
            break;
        case wire::FormatReader::Verdict::malformed:
            return PacketOutcome::malformed;
        case wire::FormatReader::Verdict::invalid:
            return PacketOutcome::invalid;
    }
    view.key = packet.count;
    view.heap_length = packet.payload_length;
    view.offset = 0;
    view.item_extent = 0;
    view.payload_length = packet.payload_length;
    view.items = words;
    view.item_count = reader_.items();
    view.flavour = wire::PacketFormat::kAddressBits;
    view.flags = view.item_count != 0 ? heap::PacketView::kItems : 0;
    payload_offset = packet.payload_at;
    return PacketOutcome::placed;
}

}  // namespace spead::recv
