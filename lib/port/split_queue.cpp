// SPDX-License-Identifier: BSD-3-Clause
#include "port/split_queue.hpp"

#include <algorithm>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "port/lengths.hpp"

namespace spead::port {

namespace {

constexpr std::uint64_t kOfBuffer = RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;

/// Reads the bytes of a chain from its beginning on.
class Reader {
  public:
    explicit Reader(const rte_mbuf* packet) noexcept : at_(packet) {}

    /// Copies the next `length` bytes; there are as many.
    void take(std::byte* to, std::uint32_t length) noexcept {
        while (length != 0) {
            if (done_ == at_->data_len) {
                at_ = at_->next;
                done_ = 0;
                continue;
            }
            const std::uint32_t n = std::min<std::uint32_t>(length, at_->data_len - done_);
            std::memcpy(to, rte_pktmbuf_mtod_offset(at_, const std::byte*, done_), n);
            to += n;
            length -= n;
            done_ += n;
        }
    }

  private:
    const rte_mbuf* at_;
    std::uint32_t done_ = 0;
};

}  // namespace

SplitQueue::SplitQueue(const Setup& setup) noexcept
    : of_(setup),
      payload_room_(rte_pktmbuf_data_room_size(setup.payload)),
      segments_(std::max(1U, (setup.longest_frame + payload_room_ - 1) / payload_room_)) {}

/// Returns how many packets of any length the pools have mbufs for.
std::uint16_t SplitQueue::room(std::uint16_t max) const noexcept {
    return static_cast<std::uint16_t>(std::min<unsigned>(
        {max, rte_mempool_avail_count(of_.headers), rte_mempool_avail_count(of_.payload) / segments_}));
}

std::uint16_t SplitQueue::burst(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
    auto& q = *static_cast<SplitQueue*>(self);
    const std::uint16_t asked = q.room(max);
    if (asked == 0)
        return 0;
    const std::uint16_t n = q.of_.inner.rx_burst(mbufs, asked);
    for (std::uint16_t i = 0; i < n; i++)
        mbufs[i] = q.cut(mbufs[i]);
    return n;
}

/// Returns the packet in mbufs of the two pools; room() has seen that they have enough.
rte_mbuf* SplitQueue::cut(rte_mbuf* packet) noexcept {
    rte_mbuf* const header = rte_pktmbuf_alloc(of_.headers);
    header->ol_flags = packet->ol_flags & ~kOfBuffer;
    header->port = packet->port;
    header->packet_type = packet->packet_type;
    rte_mbuf_dynfield_copy(header, packet);
    // One whose lengths are wrong becomes empty: a parser refuses it.
    if (lengths_fit(*packet)) [[likely]]
        store(header, packet);
    rte_pktmbuf_free(packet);
    return header;
}

void SplitQueue::store(rte_mbuf* header, const rte_mbuf* packet) noexcept {
    Reader from(packet);
    header->pkt_len = std::min(packet->pkt_len, of_.longest_frame);
    header->data_len = static_cast<std::uint16_t>(std::min(header->pkt_len, of_.at));
    from.take(rte_pktmbuf_mtod(header, std::byte*), header->data_len);
    std::uint32_t left = header->pkt_len - header->data_len;
    for (rte_mbuf* last = header; left != 0; last = last->next) {
        rte_mbuf* const m = rte_pktmbuf_alloc(of_.payload);
        m->data_off = 0;  // only the first segment has headroom
        m->data_len = static_cast<std::uint16_t>(std::min(left, payload_room_));
        from.take(rte_pktmbuf_mtod(m, std::byte*) + of_.to_view, m->data_len);
        left -= m->data_len;
        last->next = m;
        header->nb_segs++;
    }
}

}  // namespace spead::port
