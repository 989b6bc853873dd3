// SPDX-License-Identifier: BSD-3-Clause
#include "recv/udp_checksum.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <rte_ip.h>

#include "base/byte_order.hpp"
#include "wire/net.hpp"

namespace spead::recv {

namespace {

/// Returns the sum of `length` bytes from `at` on, in the byte order of the packet. The packet has as many.
/// Not rte_raw_cksum_mbuf(): that of DPDK 22.11 loses carries after a segment of odd length.
std::uint32_t sum_of(const rte_mbuf& mbuf, std::uint32_t at, std::uint32_t length) noexcept {
    std::uint32_t sum = 0;
    std::uint32_t done = 0;
    for (const rte_mbuf* m = &mbuf; done < length && m != nullptr; m = m->next) {
        if (at >= m->data_len) {
            at -= m->data_len;
            continue;
        }
        const std::uint32_t n = std::min<std::uint32_t>(length - done, m->data_len - at);
        const std::uint16_t part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void*, at), n);
        // Swapping the bytes of every word swaps those of the sum (RFC 1071 2(B)): a segment at an odd place.
        sum += (done & 1) != 0 ? byte_swap(part) : part;
        done += n;
        at = 0;
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

}  // namespace

bool udp_checksum_is_wrong(const rte_mbuf& mbuf) noexcept {
    if ((mbuf.ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
        return false;
    if (mbuf.nb_segs == 1 && mbuf.pkt_len > mbuf.data_len) [[unlikely]]
        return false;  // rte_pktmbuf_read would read past its end; slow_path() counts it
    std::array<std::uint8_t, wire::kMaxNetHeader> scratch;
    const auto have = std::min<std::uint32_t>(mbuf.pkt_len, wire::kMaxNetHeader);
    // In place, or gathered from the segments.
    const auto* const head =
        static_cast<const std::uint8_t*>(rte_pktmbuf_read(&mbuf, 0, have, scratch.data()));
    wire::UdpView udp;
    if (head == nullptr || wire::parse_udp(head, have, mbuf.pkt_len, false, udp) != PortOutcome::stream)
        return false;
    const auto udp_at = static_cast<std::uint32_t>(udp.payload_offset - wire::kUdpHeader);
    if (load_be16(head + udp_at + 6) == 0)
        return false;
    // The UDP header's own length: further bytes in the IP packet are padding outside the sum.
    const auto length = static_cast<std::uint32_t>(udp.payload_length + wire::kUdpHeader);
    const auto raw = static_cast<std::uint16_t>(sum_of(mbuf, udp_at, length));
    std::uint32_t sum = wire::words_of(udp.source()) + wire::words_of(udp.destination()) +
                        wire::kProtocolUdp + length + rte_be_to_cpu_16(raw);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return sum != 0xFFFF;
}

}  // namespace spead::recv
