// SPDX-License-Identifier: BSD-3-Clause
/// Handles frames in several segments, and copies of whole frames.
#include <algorithm>

#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"
#include "wire/net.hpp"

namespace spead::recv {

/// Handles a packet in several segments, split anywhere: its headers are gathered, its payload is copied
/// segment by segment.
template <class Decoder>
PortOutcome BasicRxAgent<Decoder>::one_chained(Source& source, rte_mbuf* mbuf, bool verify,
                                               std::uint64_t now) noexcept {
    source.counters.multi_segment++;
    const std::size_t length = mbuf->pkt_len;
    std::size_t have = std::min(length, wire::kMaxNetHeader);
    gather(mbuf, scratch_.get(), have);
    wire::UdpView udp;
    if (const PortOutcome o = wire::parse_udp(scratch_.get(), have, length, verify, udp);
        o != PortOutcome::stream)
        return o;
    source.counters.vlan_tagged += udp.vlan_tags != 0;
    const Target* const target = source.classifier.find(udp.dst_ip, udp.dst_port, udp.src_ip);
    if (target == nullptr)
        return PortOutcome::unmatched;
    Lane<Decoder>& lane = *lanes_[target->lane];
    lane.endpoints[target->endpoint].packets++;
    if (lane.tap != nullptr && tapped(lane, mbuf, now)) [[unlikely]]
        return PortOutcome::stream;
    touch(lane);
    if (udp.payload_length > lane.max_packet_size) {
        lane.counters[PacketOutcome::oversize]++;
        return PortOutcome::stream;
    }
    // The header says itself how long it is, once its first bytes are there.
    std::size_t need = std::min<std::size_t>(udp.payload_length, wire::kSpeadHeader);
    for (int round = 0; round < 2; round++) {
        have = udp.payload_offset + need;
        gather(mbuf, scratch_.get(), have);
        need = std::min<std::size_t>(udp.payload_length,
                                     Decoder::header_need(scratch_.get() + udp.payload_offset, need));
    }
    heap::PacketView view;
    std::uint32_t payload_at = 0;
    if (!lane.decoder.decode(scratch_.get() + udp.payload_offset, have - udp.payload_offset,
                             udp.payload_length, view, payload_at)) {
        lane.counters[PacketOutcome::malformed]++;
        return PortOutcome::stream;
    }
    if (lane.filter && !filter(lane, view, way_of(udp), mbuf, udp.payload_offset + payload_at, now))
        return PortOutcome::stream;
    heap::Record* record = nullptr;
    const Accepted a = accept(lane, target->endpoint, view, udp.src_ip, now, record);
    if (a == Accepted::copy) {
        if (source.arrivals != nullptr)
            note_arrival(*record, *mbuf, *source.arrivals);
        chains_[chain_count_++] = {record, mbuf, udp.payload_offset + payload_at,
                                   static_cast<std::uint32_t>(view.offset), view.payload_length};
    } else if (a == Accepted::waits) {
        make_wait(source, lane, target->endpoint, view, udp.payload_offset + payload_at, have);
    }
    return PortOutcome::stream;
}

/// Passes a copy to our own hosts of the port.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::pass_on(Source& source, const rte_mbuf* mbuf) noexcept {
    if (source.hosts == nullptr)
        return;
    if (std::uint8_t* const to = source.hosts->reserve(mbuf->pkt_len); to != nullptr) {
        gather(mbuf, to, mbuf->pkt_len);
        source.hosts->commit();
    } else {
        source.counters.hosts_full++;
    }
}

template <class Decoder>
void BasicRxAgent<Decoder>::copy_chain(const ChainCopy& c) noexcept {
    std::byte* to = c.record->base + c.offset;
    std::size_t skip = c.skip;
    std::size_t left = c.length;
    for (const rte_mbuf* m = c.mbuf; left != 0; m = m->next) {
        if (skip >= m->data_len) {
            skip -= m->data_len;
            continue;
        }
        const std::size_t n = std::min<std::size_t>(left, m->data_len - skip);
        copy_(to, rte_pktmbuf_mtod_offset(m, const std::uint8_t*, skip), n);
        to += n;
        left -= n;
        skip = 0;
    }
}

template PortOutcome BasicRxAgent<SpeadDecoder>::one_chained(Source&, rte_mbuf*, bool,
                                                             std::uint64_t) noexcept;
template void BasicRxAgent<SpeadDecoder>::pass_on(Source&, const rte_mbuf*) noexcept;
template void BasicRxAgent<SpeadDecoder>::copy_chain(const ChainCopy&) noexcept;

}  // namespace spead::recv
