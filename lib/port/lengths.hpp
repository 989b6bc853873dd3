// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <rte_mbuf.h>

/// Checks lengths that a PMD took from a process at the other end without a check (net_virtio_user: the
/// length in the ring). On the lcore.
namespace spead::port {

/// Returns whether every segment lies inside its buffer, and the segments agree with the first one's totals.
inline bool lengths_fit(const rte_mbuf& head) noexcept {
    const auto inside = [](const rte_mbuf& m) { return std::uint32_t{m.data_off} + m.data_len <= m.buf_len; };
    if (head.nb_segs == 1) [[likely]]
        return inside(head) && head.pkt_len == head.data_len;
    std::uint64_t bytes = 0;
    std::uint32_t segments = 0;
    for (const rte_mbuf* m = &head; m != nullptr; m = m->next) {
        if (!inside(*m))
            return false;
        bytes += m->data_len;
        segments++;
    }
    return segments == head.nb_segs && bytes == head.pkt_len;
}

/// Empties the packet, so that a parser refuses it; its mbufs go back to their pools unchanged.
inline void make_empty(rte_mbuf& head) noexcept {
    head.pkt_len = 0;
    for (rte_mbuf* m = &head; m != nullptr; m = m->next) {
        m->data_len = 0;
        m->data_off = 0;
    }
}

}  // namespace spead::port
