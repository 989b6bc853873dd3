// SPDX-License-Identifier: BSD-3-Clause
#include "send/heap_layout.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "wire/net.hpp"

namespace spead::send {

std::uint32_t usable_packet_size(std::size_t max_packet_size) {
    const std::size_t usable = max_packet_size & ~std::size_t{7};
    if (usable < kMinPacketSize)
        throw Error(fmt::format(
            "packet size of {} bytes is too small: at least {} are needed for the headers, one item "
            "pointer and some payload",
            max_packet_size, kMinPacketSize));
    if (max_packet_size > wire::kMaxUdpPayload)
        throw Error(fmt::format("packet size of {} bytes is too large: a UDP datagram holds at most {}",
                                max_packet_size, wire::kMaxUdpPayload));
    return static_cast<std::uint32_t>(usable);
}

std::uint64_t min_payload(std::uint64_t items, std::uint32_t max_pointers) noexcept {
    return items / max_pointers * wire::kItemPointer + 1;
}

std::uint64_t count_packets(const HeapLayout& layout) noexcept {
    const std::uint64_t pointers = layout.pointers.size();
    const std::uint64_t room = layout.packet_size - kPacketPrefix;
    std::uint64_t payload = layout.payload_length;
    if (layout.repeat_pointers) {
        const std::uint64_t each = room - pointers * wire::kItemPointer;
        return (payload + each - 1) / each;
    }
    // Packets full of pointers leave room for 8 bytes each; one more carries the rest of the pointers.
    std::uint64_t packets = std::min(pointers / layout.max_pointers, (payload + 7) / 8);
    payload -= std::min(payload, packets * (room - layout.max_pointers * wire::kItemPointer));
    const std::uint64_t rest = pointers % layout.max_pointers;
    if (rest != 0 && payload != 0) {
        payload -= std::min(payload, room - rest * wire::kItemPointer);
        ++packets;
    }
    return packets + (payload + room - 1) / room;
}

}  // namespace spead::send
