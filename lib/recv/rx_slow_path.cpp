// SPDX-License-Identifier: BSD-3-Clause
/// Handles packets off the fast path: the first of a shape, unusual ones, those in several segments; and
/// frames that are copied whole.
#include <algorithm>

#include <rte_mbuf.h>

#include "recv/header_cursor.hpp"
#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"
#include "wire/net.hpp"

namespace spead::recv {

namespace {

/// Holds the NIC's verdict on the checksums. Software checks the IPv4 header only if the NIC gives none.
struct NicVerdict {
    bool bad;
    bool verify;
};

NicVerdict nic_verdict(const rte_mbuf* m) {
    const std::uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
    const std::uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    return {ip == RTE_MBUF_F_RX_IP_CKSUM_BAD || l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD,
            ip != RTE_MBUF_F_RX_IP_CKSUM_GOOD};
}

/// Fetches what the decoder wants of a datagram, if it may be read. Returns how many bytes it wants, which
/// are contiguous then.
template <class Decoder>
std::size_t fetch_datagram_header(const Decoder& decoder, HeaderCursor& head, const wire::UdpView& udp,
                                  const Source& source, const rte_mbuf& mbuf) {
    if (head.in_place()) [[likely]]
        return udp.payload_length;
    // The header says itself how long it is, once its first bytes are there.
    std::size_t have = 0;
    for (int round = 0; round < 2; round++) {
        const std::size_t need = decoder.header_need(head.data() + udp.payload_offset, have);
        // The decoder refuses a header that is longer than its datagram by the bytes that say so.
        if (round == 1 && need > udp.payload_length) [[unlikely]]
            break;
        have = std::min<std::size_t>(udp.payload_length, need);
        if (!source.may_read(mbuf, udp.payload_offset + have))
            break;
        head.fetch(udp.payload_offset + have);
    }
    return have;
}

/// Notes the UDP payload that a frame has by its IP header, of which a cut frame has the rest no more.
[[gnu::noinline]] void note_long_frame(Source& source, const std::uint8_t* head, std::size_t have) {
    std::size_t ip = wire::kEthernetHeader;
    for (std::size_t tags = 0; tags < wire::kMaxVlanTags && have >= ip; tags++) {
        const std::uint16_t type = load_be16(head + ip - 2);
        if (type != wire::kEtherTypeVlan && type != wire::kEtherTypeQinQ)
            break;
        ip += wire::kVlanTag;
    }
    if (have < ip + wire::kIpv4Header)
        return;
    const std::uint16_t type = load_be16(head + ip - 2);
    const std::size_t room =
        type == wire::kEtherTypeIpv6 ? load_be16(head + ip + 4) : load_be16(head + ip + 2);
    const std::size_t headers =
        wire::kUdpHeader + (type == wire::kEtherTypeIpv6 ? 0 : std::size_t{head[ip] & 0x0FU} * 4);
    if ((type == wire::kEtherTypeIpv4 || type == wire::kEtherTypeIpv6) && room > headers)
        source.counters.longest_payload =
            std::max(source.counters.longest_payload, static_cast<std::uint32_t>(room - headers));
}

/// Counts a packet whose header goes on in memory that the CPU may not read. `bytes`: of the header.
template <class Decoder>
[[gnu::noinline]] void count_cut_header(Lane<Decoder>& lane, std::uint16_t endpoint, std::uint32_t sender,
                                        std::size_t bytes) {
    lane.counters[PacketOutcome::header_in_device]++;
    lane.counters.cut_sources.note(sender);
    lane.counters.longest_header = std::max(lane.counters.longest_header, static_cast<std::uint32_t>(bytes));
    lane.unplaced[endpoint].all++;
}

/// Counts a packet that the decoder refuses.
template <class Decoder>
[[gnu::noinline]] void count_refused(Lane<Decoder>& lane, std::uint16_t endpoint,
                                     const std::uint8_t* datagram, std::size_t have, std::size_t length) {
    const PacketOutcome outcome = lane.decoder.refusal();
    lane.counters[outcome]++;
    lane.unplaced[endpoint].all++;
    if (outcome == PacketOutcome::malformed)
        lane.refused.note(datagram, std::min(have, length), length);
}

}  // namespace

/// Decides every packet that fast_path() leaves: parsed step by step, in one segment or split anywhere.
/// Templates learn from it.
template <class Decoder>
[[gnu::noinline]] PortOutcome BasicRxAgent<Decoder>::slow_path(Source& source, rte_mbuf* mbuf,
                                                               std::uint64_t now) noexcept {
    if (other_fast_path(source, mbuf, now) || stopped_short_)
        return PortOutcome::stream;
    const std::size_t length = mbuf->pkt_len;
    // Only a broken driver says so. There is no segment to gather the rest from.
    if (mbuf->nb_segs == 1 && length > mbuf->data_len) [[unlikely]]
        return PortOutcome::malformed;
    if (mbuf->nb_segs != 1 && !gatherings_.empty()) [[unlikely]] {
        if (mbuf->nb_segs > Gathering::kMaxSegments)
            return PortOutcome::malformed;
        if (!fits(source, *mbuf)) {
            // As if it were still in its queue.
            stopped_short_ = true;
            return PortOutcome::stream;
        }
    }
    // No link carried a frame that was put together here.
    const bool one_frame = source.reassembler == nullptr || mbuf->nb_segs == 1;
    const bool is_long = length > source.longest_frame && one_frame;
    source.counters.oversized_frames += is_long;
    bool verify = true;
    if (mbuf->ol_flags != 0) {
        const NicVerdict nic = nic_verdict(mbuf);
        if (nic.bad) [[unlikely]]
            return PortOutcome::bad_checksum;
        verify = nic.verify;
    }
    // A card that cuts leaves them in the first segment.
    if (!source.may_read(*mbuf, std::min(length, wire::kMaxNetHeader))) [[unlikely]]
        return PortOutcome::malformed;
    HeaderCursor head(*mbuf, scratch_.get());
    source.counters.multi_segment += !head.in_place();
    head.fetch(std::min(length, wire::kMaxNetHeader));
    if (is_long) [[unlikely]]
        note_long_frame(source, head.data(), head.length());
    wire::UdpView udp;
    if (const PortOutcome o = wire::parse_udp(head.data(), head.length(), length, verify, udp);
        o != PortOutcome::stream) [[unlikely]] {
        if (o == PortOutcome::malformed && one_frame && length <= source.longest_frame &&
            length >= source.cut_frame) {
            source.counters.oversized_frames++;
            note_long_frame(source, head.data(), head.length());
        }
        return o;
    }
    source.counters.vlan_tagged += udp.vlan_tags != 0;
    const Target* const target = source.classifier.find(udp);
    if (target == nullptr) [[unlikely]] {
        source.strays.note(udp.destination(), udp.dst_port, udp.source());
        return PortOutcome::unmatched;
    }
    Lane<Decoder>& lane = *lanes_[target->lane];
    lane.endpoints[target->endpoint].packets++;
    if (lane.tap != nullptr && tapped(lane, target->endpoint, mbuf, now)) [[unlikely]]
        return PortOutcome::stream;
    touch(lane);
    if (udp.payload_length > lane.max_packet_size) [[unlikely]] {
        lane.counters[PacketOutcome::oversize]++;
        lane.counters.longest_packet = std::max(lane.counters.longest_packet, udp.payload_length);
        lane.unplaced[target->endpoint].all++;
        return PortOutcome::stream;
    }
    const std::size_t have = fetch_datagram_header(lane.decoder, head, udp, source, *mbuf);
    if (!source.may_read(*mbuf, udp.payload_offset + have)) [[unlikely]] {
        count_cut_header(lane, target->endpoint, udp.src_ip, udp.payload_offset + have);
        return PortOutcome::stream;
    }
    const std::uint8_t* const datagram = head.data() + udp.payload_offset;
    heap::PacketView view;
    std::uint32_t payload_at = 0;  // in the frame, once it is decoded
    if (!lane.decoder.decode(datagram, have, udp.payload_length, view, payload_at)) [[unlikely]] {
        count_refused(lane, target->endpoint, datagram, have, udp.payload_length);
        return PortOutcome::stream;
    }
    payload_at += udp.payload_offset;
    // The fast paths take no frames with tags or options, and no chains but those cut behind the headers.
    if (head.in_place() || (mbuf->nb_segs == 2 && payload_at == mbuf->data_len && lane.decoder.learns()))
        [[likely]]
        learn_usual(source.flows, source.flows6, udp, [&](auto& flows, std::uint32_t headers) {
            const std::uint32_t most = std::min(lane.max_packet_size, source.longest_frame - headers);
            if (lane.decoder.learns())
                Decoder::learn(flows.turn(head.data()), head.data(), udp, *target, most);
            else
                flows.learn_format(head.data(), udp, *target, most);
        });
    if (lane.filter && !filter(lane, target->endpoint, view, way_of(udp), mbuf, payload_at, now))
        return PortOutcome::stream;
    heap::Record* record = nullptr;
    view.arrival = now;
    view.source = udp.src_ip;
    const Accepted a = lane.chunks
                           ? into_chunks(source, lane, target->endpoint, view, mbuf, payload_at, Into::first)
                           : accept(lane, target->endpoint, view, udp.src_ip, now, record);
    if (a == Accepted::copy) [[likely]] {
        if (lane.notes_paths())
            note_brought(lane, target->endpoint, packet_of(view), view.arrival);
        if (source.arrivals != nullptr)
            note_arrival(*record, *mbuf, *source.arrivals);
        const Copy copy{&record->base, head.data() + payload_at, view.offset, view.payload_length,
                        lane.stores};
        if (lane.gathering) [[unlikely]]
            gather_chain(lane, source, mbuf, record->base + view.offset, payload_at, view.payload_length);
        else if (!head.in_place()) [[unlikely]]
            chains_[chain_count_++] = {&record->base,       mbuf,       payload_at, view.offset,
                                       view.payload_length, lane.stores};
        else if (!lane.lent || !lend(lane, source, *record, mbuf, copy)) {
            prefetch_copied(*mbuf, head.data() + payload_at, view.payload_length);
            copies_[copy_count_++] = copy;
        }
    } else if (a == Accepted::waits) {
        make_wait(source, lane, target->endpoint, view, payload_at,
                  {.at = static_cast<std::uint32_t>(udp.payload_offset),
                   .have = static_cast<std::uint32_t>(have),
                   .length = static_cast<std::uint32_t>(udp.payload_length),
                   .gathered = static_cast<std::uint32_t>(head.gathered())});
    }
    return PortOutcome::stream;
}

/// Copies a frame for the hosts that answer for the port.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::pass_on(Source& source, const rte_mbuf* mbuf) noexcept {
    if (source.hosts == nullptr)
        return;
    std::uint8_t* const to =
        source.may_read(*mbuf, mbuf->pkt_len) ? source.hosts->reserve(mbuf->pkt_len) : nullptr;
    if (to != nullptr) {
        gather(mbuf, to, mbuf->pkt_len);
        source.hosts->commit();
    } else {
        source.counters.hosts_full++;
    }
}

/// Returns the first byte of the payload.
template <class Decoder>
const void* BasicRxAgent<Decoder>::start_of(const ChainCopy& c) noexcept {
    std::size_t skip = c.skip;
    const rte_mbuf* m = c.mbuf;
    for (; m->next != nullptr && skip >= m->data_len; m = m->next)
        skip -= m->data_len;
    return rte_pktmbuf_mtod_offset(m, const void*, skip);
}

/// Copies a payload that lies in pieces, or in one after its headers. The packets go on at `next`.
template <class Decoder>
void BasicRxAgent<Decoder>::copy_chain(const ChainCopy& c, const void* next) noexcept {
    const memory::PayloadCopy& copy = copies_of_.with(c.stores);
    std::byte* to = *c.base + c.offset;
    std::uint64_t at = c.at;
    std::size_t skip = c.skip;
    std::size_t left = c.length;
    for (const rte_mbuf* m = c.mbuf; left != 0; m = m->next) {
        if (skip >= m->data_len) {
            skip -= m->data_len;
            continue;
        }
        const std::size_t n = std::min<std::size_t>(left, m->data_len - skip);
        const auto* const from = rte_pktmbuf_mtod_offset(m, const std::uint8_t*, skip);
        if (c.rows != nullptr) {
            chunk::copy_rows(copy, to, *c.rows, at, from, n);
            at += n;
        } else {
            copy.then(to, from, n, n == left ? next : nullptr);
            to += n;
        }
        left -= n;
        skip = 0;
    }
}

/// Writes past the cache where a lane rotates through more than it has. A stream that begins, or whose heaps
/// have become longer, need not wait for the next choice.
template <class Decoder>
void BasicRxAgent<Decoder>::leave_cache() noexcept {
    for (Lane<Decoder>* const lane : lanes_) {
        if (lane == nullptr || lane->config.copy != memory::CopySetting::automatic ||
            lane->stores != memory::Stores::cached)
            continue;
        const std::size_t bytes = lane->rotating();
        if (stores_.choose(bytes, lane->stores) == memory::Stores::cached)
            continue;
        lane->stores = memory::Stores::streaming;
        lane->counters.rotating_bytes = bytes;
        lane->counters.streaming_now = 1;
    }
}

/// Notes the memory that each lane rotates through, and chooses its stores by that.
template <class Decoder>
void BasicRxAgent<Decoder>::choose_stores() noexcept {
    std::size_t all = 0;
    std::size_t streams = 0;
    for (Lane<Decoder>* const lane : lanes_) {
        if (lane == nullptr)
            continue;
        const std::size_t bytes = lane->take_rotating();
        lane->counters.rotating_bytes = bytes;
        all += bytes;
        streams += bytes != 0;
    }
    stores_.set_all(all, std::max<std::size_t>(1, streams));
    for (Lane<Decoder>* const lane : lanes_) {
        if (lane == nullptr)
            continue;
        if (lane->config.copy == memory::CopySetting::automatic)
            lane->stores = stores_.choose(lane->counters.rotating_bytes, lane->stores);
        lane->counters.streaming_now = lane->stores == memory::Stores::streaming ? 1 : 0;
    }
}

template PortOutcome BasicRxAgent<SpeadDecoder>::slow_path(Source&, rte_mbuf*, std::uint64_t) noexcept;
template void BasicRxAgent<SpeadDecoder>::pass_on(Source&, const rte_mbuf*) noexcept;
template void BasicRxAgent<SpeadDecoder>::copy_chain(const ChainCopy&, const void*) noexcept;
template const void* BasicRxAgent<SpeadDecoder>::start_of(const ChainCopy&) noexcept;
template void BasicRxAgent<SpeadDecoder>::choose_stores() noexcept;
template void BasicRxAgent<SpeadDecoder>::leave_cache() noexcept;

}  // namespace spead::recv
