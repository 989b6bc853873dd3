// SPDX-License-Identifier: BSD-3-Clause
#include "send/frame_builder.hpp"

#include <cstring>
#include <optional>
#include <span>

#include "base/byte_order.hpp"

namespace spead::send {
namespace {

/// Casts const away: DPDK's interface has no const, but drivers only read sent data.
void* writable(const std::byte* data) {
    return const_cast<std::byte*>(data);
}

/// Attaches the payload. IO addresses are virtual ones (the sender checks EAL's mode).
void attach(rte_mbuf& m, const std::byte* payload, std::uint32_t length, rte_mbuf_ext_shared_info* info,
            std::uint64_t flags) noexcept {
    void* const at = writable(payload);
    const auto bytes = static_cast<std::uint16_t>(length);
    rte_pktmbuf_attach_extbuf(&m, at, reinterpret_cast<rte_iova_t>(at), bytes, info);
    m.ol_flags |= flags;
    m.data_len = bytes;
    m.pkt_len = length;
}

/// Writes the headers of `n` packets of the slot's run. A single one, where heaps take turns, has no
/// RunStamp: to make it costs 16 cycles more than the packet's own stamp.
class RunHeaders {
  public:
    RunHeaders(Slot& slot, std::uint32_t n) noexcept : slot_(slot) {
        if (n == 1)
            return;
        const Packetiser& p = slot.packets;
        stamp_.emplace(slot.destination->stamp(StampedDestination::run, p.layout().flavour, p.run_payload(),
                                               p.run_pointers()),
                       p);
    }
    std::uint32_t length() const noexcept {
        return static_cast<std::uint32_t>(slot_.destination->length()) + slot_.packets.run_header();
    }
    /// Writes those of the packet whose payload starts at `offset` of the heap, as RunStamp::write does.
    [[gnu::always_inline]] void write(std::uint8_t* out, std::uint64_t offset) const noexcept {
        if (stamp_) [[likely]] {
            stamp_->write(out, offset);
            return;
        }
        const Packetiser& p = slot_.packets;
        const HeapLayout& layout = p.layout();
        Packetiser::write_pointers(
            layout, 0, p.run_pointers(),
            slot_.destination->write_packet(StampedDestination::run, out, layout.flavour, p.run_payload(),
                                            p.run_pointers(), p.cnt(), layout.payload_length, offset));
    }

  private:
    Slot& slot_;
    std::optional<RunStamp> stamp_;
};

std::span<const std::uint8_t> bytes_of(const std::uint8_t* at, std::size_t length) {
    return {at, length};
}

}  // namespace

bool MbufStash::fetch(std::uint32_t n, std::uint32_t wanted) noexcept {
    const auto get = [this](std::uint32_t more) {
        if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(&at_[n_]), more) != 0)
            return false;
        n_ += more;
        return true;
    };
    return get(wanted - n_) || (wanted > n && get(n - n_));
}

FrameBuilder::FrameBuilder(const Pools& pools, const Options& options) noexcept
    : headers_(pools.header()),
      externals_(pools.external()),
      copies_(pools.copy()),
      options_(options),
      cheap_copy_(options.always ? 0 : kCheapCopy) {
    if (options.checksum == UdpChecksum::port) {
        tx_flags_ = (options.ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4) | RTE_MBUF_F_TX_UDP_CKSUM;
        tx_offload_ = rte_mbuf_tx_offload(
            options.l2_length, options.ipv6 ? wire::kIpv6Header : wire::kIpv4Header, 0, 0, 0, 0, 0);
    }
}

/// Fills in the first segment. An mbuf fresh from its pool has refcnt 1, no next and one segment; other
/// fields are undefined.
void FrameBuilder::first_segment(rte_mbuf& m, std::uint32_t length, std::uint32_t total,
                                 std::uint32_t segments) const noexcept {
    m.data_off = RTE_PKTMBUF_HEADROOM;
    m.nb_segs = static_cast<std::uint16_t>(segments);
    m.port = RTE_MBUF_PORT_INVALID;
    m.ol_flags = tx_flags_;
    m.packet_type = 0;
    m.pkt_len = total;
    m.data_len = static_cast<std::uint16_t>(length);
    m.vlan_tci = 0;
    m.tx_offload = tx_offload_;
}

/// Writes all headers of the packet, with room for PacketStamp::kCapacity bytes. Headers made anew took
/// 127 instructions of a heap of one packet (callgrind); most heaps' first and last packets find a stamp.
void FrameBuilder::write_headers(Slot& slot, const Packetiser::Packet& packet, std::uint8_t* out) noexcept {
    StampedDestination& net = *slot.destination;
    if (!PacketStamp::fits(net, packet.pointers)) [[unlikely]] {
        net.write(out, packet.header_length + packet.payload_length);
        slot.packets.write_header(packet, out + net.length());
        return;
    }
    const HeapLayout& layout = slot.packets.layout();
    const auto place = packet.offset == 0 ? StampedDestination::first : StampedDestination::other;
    std::uint8_t* const at =
        net.write_packet(place, out, layout.flavour, packet.payload_length, packet.pointers,
                         slot.packets.cnt(), layout.payload_length, packet.offset);
    Packetiser::write_pointers(layout, packet.first_pointer, packet.pointers, at);
}

FrameBuilder::Result FrameBuilder::whole(Slot& slot, bool may_external, std::uint32_t wanted) noexcept {
    const HeapLayout& layout = *slot.entry.layout;
    const auto pointers = static_cast<std::uint32_t>(layout.pointers.size());
    const auto payload = static_cast<std::uint32_t>(layout.payload_length);
    const Piece& only = layout.only;
    StampedDestination& net = *slot.destination;
    const std::uint32_t header = PacketStamp::length_of(net, pointers);
    const std::uint32_t total = header + payload;
    const bool external =
        only.kind == PieceKind::device || (may_external && wants_external(only.kind, payload));
    MbufStash& stash = external || total <= kHeaderBytes ? headers_ : copies_;
    if (!stash.ensure(1, wanted) || (external && !externals_.ensure(1, wanted)))
        return {};
    rte_mbuf& head = *stash.take();
    std::uint8_t* const at = data(head);
    Packetiser::write_pointers(layout, 0, pointers,
                               net.write_packet(StampedDestination::first, at, layout.flavour, payload,
                                                pointers, slot.entry.cnt, payload, 0));
    if (external) {
        rte_mbuf& tail = *externals_.take();
        attach(tail, only.data, payload, slot.refs.only(), flags_of(only.kind));
        first_segment(head, header, total, 2);
        head.ol_flags |= flags_of(only.kind);
        head.next = &tail;
    } else {
        std::memcpy(at + header, only.data, payload);
        first_segment(head, total, total, 1);
    }
    return {&head, total, external, only.kind == PieceKind::unregistered};
}

bool FrameBuilder::external_run(Slot& slot, std::uint32_t n, std::uint32_t wanted,
                                rte_mbuf** frames) noexcept {
    if (!headers_.ensure(n, wanted) || !externals_.ensure(n, wanted))
        return false;
    rte_mbuf_ext_shared_info* const info = slot.refs.reserve(static_cast<std::uint16_t>(n));
    if (info == nullptr)
        return false;
    rte_mbuf** const heads = headers_.take(n);
    rte_mbuf** const tails = externals_.take(n);
    const RunHeaders headers(slot, n);
    const std::uint32_t header = headers.length();
    const std::uint32_t payload = slot.packets.run_payload();
    const std::byte* from = slot.packets.run().data;
    std::uint64_t offset = slot.packets.offset();
    const std::uint64_t flags = flags_of(slot.packets.run().kind);
    for (std::uint32_t i = 0; i < n; ++i) {
        rte_mbuf& head = *heads[i];
        rte_mbuf& tail = *tails[i];
        headers.write(data(head), offset);
        first_segment(head, header, header + payload, 2);
        head.ol_flags |= flags;
        head.next = &tail;
        attach(tail, from, payload, info, flags);
        frames[i] = &head;
        from += payload;
        offset += payload;
    }
    slot.refs.attached(static_cast<std::uint16_t>(n));
    return true;
}

bool FrameBuilder::copied_run(Slot& slot, std::uint32_t n, std::uint32_t wanted, rte_mbuf** frames) noexcept {
    const std::uint32_t payload = slot.packets.run_payload();
    const bool small = slot.destination->length() + slot.packets.run_header() + payload <= kHeaderBytes;
    MbufStash& stash = small ? headers_ : copies_;
    if (!stash.ensure(n, wanted))
        return false;
    rte_mbuf** const mbufs = stash.take(n);
    const RunHeaders headers(slot, n);
    const std::uint32_t header = headers.length();
    const std::byte* from = slot.packets.run().data;
    std::uint64_t offset = slot.packets.offset();
    for (std::uint32_t i = 0; i < n; ++i) {
        rte_mbuf& m = *mbufs[i];
        std::uint8_t* const to = data(m);
        headers.write(to, offset);
        std::memcpy(to + header, from, payload);
        first_segment(m, header + payload, header + payload, 1);
        frames[i] = &m;
        from += payload;
        offset += payload;
    }
    return true;
}

FrameBuilder::Pieces FrameBuilder::pieces_of(const Slot& slot, const Packetiser::Packet& packet) noexcept {
    Pieces pieces;
    slot.packets.for_each_piece(packet, [&](const std::byte* from, std::uint32_t length, PieceKind kind) {
        if (pieces.n < kMaxPieces)
            pieces.at[pieces.n] = {from, length, kind};
        ++pieces.n;
        pieces.device |= kind == PieceKind::device;
        pieces.unregistered |= kind == PieceKind::unregistered;
        pieces.all_in_regions &= kind == PieceKind::registered || kind == PieceKind::device;
    });
    return pieces;
}

FrameBuilder::Result FrameBuilder::single(Slot& slot, const Packetiser::Packet& packet, bool may_external,
                                          std::uint32_t wanted) noexcept {
    const Piece only = slot.packets.only_piece(packet);
    if (only.data == nullptr) [[unlikely]]
        return any_pieces(slot, packet, may_external, wanted);
    if (only.kind == PieceKind::device || (may_external && wants_external(only.kind, packet.payload_length)))
        return attach_one(slot, packet, only, wanted);
    Result result = copy(slot, packet, only, wanted);
    result.unregistered = only.kind == PieceKind::unregistered;
    return result;
}

FrameBuilder::Result FrameBuilder::any_pieces(Slot& slot, const Packetiser::Packet& packet, bool may_external,
                                              std::uint32_t wanted) noexcept {
    const Pieces pieces = pieces_of(slot, packet);
    const bool external = may_external && pieces.all_in_regions && pieces.n <= kMaxPieces &&
                          wants_external(PieceKind::registered, packet.payload_length);
    if (external || pieces.device)
        return chain(slot, packet, pieces, wanted);
    Result result = copy(slot, packet, {}, wanted);
    result.unregistered = pieces.unregistered;
    return result;
}

/// Copies the packet. `only`: the payload if it is in one piece.
FrameBuilder::Result FrameBuilder::copy(Slot& slot, const Packetiser::Packet& packet, const Piece& only,
                                        std::uint32_t wanted) noexcept {
    const DestinationHeader& net = *slot.destination;
    const auto headers = static_cast<std::uint32_t>(net.length()) + packet.header_length;
    const std::uint32_t total = headers + packet.payload_length;
    MbufStash& stash = total <= kHeaderBytes ? headers_ : copies_;
    if (!stash.ensure(1, wanted))
        return {};
    rte_mbuf& m = *stash.take();
    std::uint8_t* const to = data(m);
    std::uint8_t* const packet_at = to + net.length();
    write_headers(slot, packet, to);
    std::uint8_t* at = to + headers;
    if (only.data != nullptr) {
        std::memcpy(at, only.data, packet.payload_length);
    } else {
        slot.packets.for_each_piece(packet, [&](const std::byte* from, std::uint32_t length, PieceKind) {
            std::memcpy(at, from, length);
            at += length;
        });
    }
    if (options_.checksum == UdpChecksum::software) {
        const std::array<std::span<const std::uint8_t>, 1> whole{
            bytes_of(packet_at, packet.header_length + packet.payload_length)};
        net.patch_checksum(to, whole);
    }
    first_segment(m, total, total, 1);
    return {&m, total, false, false};
}

/// Returns an mbuf with the packet's headers; null when there is none.
rte_mbuf* FrameBuilder::make_head(Slot& slot, const Packetiser::Packet& packet,
                                  std::uint32_t wanted) noexcept {
    const DestinationHeader& net = *slot.destination;
    MbufStash& stash = net.length() + packet.header_length <= kHeaderBytes ? headers_ : copies_;
    if (!stash.ensure(1, wanted))
        return nullptr;
    rte_mbuf* const head = stash.take();
    write_headers(slot, packet, data(*head));
    return head;
}

FrameBuilder::Result FrameBuilder::attach_one(Slot& slot, const Packetiser::Packet& packet, const Piece& only,
                                              std::uint32_t wanted) noexcept {
    if (!externals_.ensure(1, wanted))
        return {};
    rte_mbuf_ext_shared_info* const info = slot.refs.reserve(1, slot.packets.is_last(packet));
    if (info == nullptr)
        return {};
    rte_mbuf* const head = make_head(slot, packet, wanted);
    if (head == nullptr)
        return {};
    rte_mbuf* const tail = externals_.take();
    attach(*tail, only.data, packet.payload_length, info, flags_of(only.kind));
    slot.refs.attached(1);
    const DestinationHeader& net = *slot.destination;
    const auto headers = static_cast<std::uint32_t>(net.length()) + packet.header_length;
    if (options_.checksum == UdpChecksum::software) {
        const std::array<std::span<const std::uint8_t>, 2> parts{
            bytes_of(data(*head) + net.length(), packet.header_length),
            bytes_of(reinterpret_cast<const std::uint8_t*>(only.data), packet.payload_length)};
        net.patch_checksum(data(*head), parts);
    }
    first_segment(*head, headers, headers + packet.payload_length, 2);
    head->ol_flags |= flags_of(only.kind);
    head->next = tail;
    return {head, headers + packet.payload_length, true, false};
}

/// Makes headers in a first mbuf, then a segment per piece. Registered memory is sent without a copy; short
/// pieces between device memory are copied.
FrameBuilder::Result FrameBuilder::chain(Slot& slot, const Packetiser::Packet& packet, const Pieces& pieces,
                                         std::uint32_t wanted) noexcept {
    if (!externals_.ensure(pieces.n, std::max(pieces.n, wanted)) ||
        (!pieces.all_in_regions && !copies_.ensure(kMaxSegments, kMaxSegments)))
        return {};
    rte_mbuf_ext_shared_info* const info = slot.refs.reserve(kMaxPieces);
    if (info == nullptr)
        return {};
    rte_mbuf* const head = make_head(slot, packet, wanted);
    if (head == nullptr)
        return {};
    const DestinationHeader& net = *slot.destination;
    const auto headers = static_cast<std::uint32_t>(net.length()) + packet.header_length;
    std::array<std::span<const std::uint8_t>, kMaxSegments> parts;
    parts[0] = bytes_of(data(*head) + net.length(), packet.header_length);
    rte_mbuf* last = head;
    for (std::uint32_t i = 0; i < pieces.n; ++i) {
        const Piece& piece = pieces.at[i];
        const auto length = static_cast<std::uint32_t>(piece.length);
        const bool lies = piece.kind == PieceKind::registered || piece.kind == PieceKind::device;
        rte_mbuf& segment = lies ? *externals_.take() : *copies_.take();
        if (lies) {
            attach(segment, piece.data, length, info, flags_of(piece.kind));
            slot.refs.attached(1);
        } else {
            std::memcpy(data(segment), piece.data, length);
            first_segment(segment, length, length, 1);
        }
        last->next = &segment;
        last = &segment;
        parts[i + 1] = bytes_of(reinterpret_cast<const std::uint8_t*>(piece.data), piece.length);
    }
    if (options_.checksum == UdpChecksum::software)
        net.patch_checksum(data(*head), std::span(parts).first(pieces.n + 1));
    first_segment(*head, headers, headers + packet.payload_length, pieces.n + 1);
    head->ol_flags |= pieces.device ? options_.device_flags : 0;
    return {head, headers + packet.payload_length, true, false};
}

}  // namespace spead::send
