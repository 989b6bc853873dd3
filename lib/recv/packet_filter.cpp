// SPDX-License-Identifier: BSD-3-Clause
#include "recv/packet_filter.hpp"

#include <algorithm>

#include <rte_mbuf.h>

#include "recv/held_packets.hpp"

namespace spead::recv {

std::size_t FilterPacket::payload(std::span<std::span<const std::byte>> pieces) const noexcept {
    std::size_t skip = payload_at_;
    std::size_t left = view_.payload_length;
    std::size_t count = 0;
    for (const rte_mbuf* m = mbuf_; left != 0 && m != nullptr; m = m->next) {
        if (skip >= m->data_len) {
            skip -= m->data_len;
            continue;
        }
        const std::size_t n = std::min<std::size_t>(left, m->data_len - skip);
        if (count < pieces.size())
            pieces[count] = {rte_pktmbuf_mtod_offset(m, const std::byte*, skip), n};
        count++;
        left -= n;
        skip = 0;
    }
    return count;
}

void FilterPacket::keep_items_of_mbuf() noexcept {
    const auto* const data = rte_pktmbuf_mtod(mbuf_, const std::uint8_t*);
    if (view_.items < data || view_.items + std::size_t{view_.item_count} * 8 > data + mbuf_->data_len) {
        view_.items = nullptr;
        view_.item_count = 0;
    }
}

void PacketFilter::lent(HeldPacket) noexcept {}

}  // namespace spead::recv
