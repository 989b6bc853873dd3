// SPDX-License-Identifier: BSD-3-Clause
#include "recv/flow_template.hpp"

#include <algorithm>
#include <bit>

#include "wire/flavour.hpp"

namespace spead::recv {

template <class Ip>
bool BasicFlowTemplate<Ip>::learn(const std::uint8_t* frame, const wire::UdpView& udp,
                                  const wire::SpeadPacket& packet, bool from_source, std::uint16_t lane,
                                  std::uint16_t endpoint, std::uint32_t max_packet_size) noexcept {
    forget();
    if (udp.ipv6 != Ip::kIpv6 || udp.payload_offset != Ip::kHeader || udp.vlan_tags != 0 ||
        packet.n_items > kMaxPointers || (packet.flags & wire::kHasControl) != 0)
        return false;
    const wire::Flavour flavour(packet.address_bits);
    const std::uint8_t* const datagram = frame + udp.payload_offset;

    std::array<std::uint8_t, kMaxHeader + 16> mask{};
    const auto fix = [&mask](std::size_t at, std::size_t bytes) {
        std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(at), bytes, std::uint8_t{0xFF});
    };
    Ip::mask(HeaderMask(mask.data()), from_source);
    fix(Ip::kHeader, wire::kSpeadHeader);

    heap_length_at_ = 0;
    no_heap_length_ = wire::kUnknownLength;
    for (std::size_t i = 0; i < packet.n_items; i++) {
        const std::size_t at = Ip::kHeader + wire::kSpeadHeader + wire::kItemPointer * i;
        fix(at, wire::kItemPointer - flavour.address_bytes());
        const std::uint64_t raw = wire::load_pointer(datagram, i);
        if (!wire::is_packet_special(raw, flavour))
            continue;
        if (i > packet.first_item)
            return false;
        const auto place = static_cast<std::uint16_t>(at);
        switch (flavour.id(raw)) {  // the last of repeated specials counts
            case wire::item::kHeapCnt:
                cnt_at_ = place;
                break;
            case wire::item::kHeapLength:
                heap_length_at_ = place;
                no_heap_length_ = 0;
                break;
            case wire::item::kPayloadOffset:
                offset_at_ = place;
                break;
            default:
                payload_length_at_ = place;
                break;
        }
    }

    const std::size_t end = Ip::kHeader + packet.header_length;
    std::size_t unit = 0;
    for (std::size_t at = kFirst; unit == 0 || at + 16 < end; at += 16, unit++) {
        units_[unit].pattern = load(frame + at);
        units_[unit].mask = load(mask.data() + at);
    }
    last_pattern_ = load(frame + end - 16);
    last_mask_ = load(mask.data() + end - 16);

    fixed_sum_ = Ip::fixed_sum(frame);
    value_mask_ = flavour.value_mask();
    max_udp_length_ = std::uint64_t{max_packet_size} + wire::kUdpHeader;
    item_count_ = static_cast<std::uint32_t>(packet.n_items - packet.first_item);
    items_at_ =
        static_cast<std::uint16_t>(Ip::kHeader + wire::kSpeadHeader + wire::kItemPointer * packet.first_item);
    lane_ = lane;
    endpoint_ = endpoint;
    flavour_ = packet.address_bits;
    flags_ = static_cast<std::uint8_t>((packet.flags & wire::kHasItems) != 0 ? heap::PacketView::kItems : 0);
    header_end_ = end;
    return true;
}

template <class Ip>
BasicFlowCache<Ip>::BasicFlowCache(std::size_t endpoints)
    : pairs_(std::bit_ceil(std::clamp<std::size_t>(endpoints * 4, 2, 1024))),
      shift_(64 - static_cast<unsigned>(std::countr_zero(pairs_.size()))),
      last_(pairs_.front().templates.data()) {}

template <class Ip>
void BasicFlowCache<Ip>::forget() noexcept {
    for (Pair& pair : pairs_) {
        for (Template& t : pair.templates)
            t.forget();
        pair.of_format.forget();
    }
}

template class BasicFlowTemplate<Ipv4Frame>;
template class BasicFlowTemplate<Ipv6Frame>;
template class BasicFlowCache<Ipv4Frame>;
template class BasicFlowCache<Ipv6Frame>;

}  // namespace spead::recv
