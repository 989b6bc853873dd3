// SPDX-License-Identifier: BSD-3-Clause
#include "wire/spead_template.hpp"

namespace spead::wire {

void SpeadTemplate::learn(const std::uint8_t* head, const SpeadPacket& packet) noexcept {
    forget();
    if (packet.n_items > kMaxPointers || (packet.flags & kHasControl) != 0)
        return;
    const Flavour flavour(packet.address_bits);
    std::memcpy(shape_.data(), head, packet.header_length);
    const std::uint64_t pointer_mask = byte_swap(~flavour.value_mask());
    first_mask_ = Pair{~std::uint64_t{0}, pointer_mask};
    mask_ = Pair{pointer_mask, pointer_mask};
    value_mask_ = Pair{flavour.value_mask(), flavour.value_mask()};
    no_heap_length_ = Pair{0, kUnknownLength};
    heap_length_at_ = 0;  // a readable place, for shapes without HEAP_LENGTH
    n_addressed_ = 0;
    for (std::size_t i = 0; i < packet.n_items; ++i) {
        const auto at = static_cast<std::uint16_t>(kSpeadHeader + kItemPointer * i);
        const std::uint64_t raw = load_be64(head + at);
        if (!flavour.is_immediate(raw)) {
            addressed_at_[n_addressed_++] = at;
            continue;
        }
        switch (flavour.id(raw)) {  // the last of repeated specials counts
            case item::kHeapCnt:
                cnt_at_ = at;
                break;
            case item::kHeapLength:
                heap_length_at_ = at;
                no_heap_length_ = Pair{0, 0};
                break;
            case item::kPayloadOffset:
                offset_at_ = at;
                break;
            case item::kPayloadLength:
                length_at_ = at;
                break;
            default:
                break;
        }
    }
    proto_ = packet;
    header_length_ = packet.header_length;
}

}  // namespace spead::wire
