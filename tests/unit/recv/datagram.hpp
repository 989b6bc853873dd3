// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "heap/packet_view.hpp"
#include "recv/classifier.hpp"
#include "tests/support/heap_packet.hpp"
#include "tests/unit/wire/frames.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

/// Makes SPEAD datagrams in frames, and parses them the slow, obvious way. Every short cut must agree with
/// that.
namespace spead::recv::test {

using wire::test::Bytes;

/// Draws 32 bits at a time.
using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

/// Holds a frame's source and destination, and other fields of its headers.
struct Way {
    std::uint32_t to = 0xEF010203;
    std::uint16_t port = 7148;
    std::uint32_t from = 0x0A000007;
    std::uint16_t from_port = 50000;
    std::uint8_t tos = 0;
    std::uint8_t ttl = 4;
    std::uint16_t id = 0;
    std::vector<std::uint16_t> tags{};  ///< TPIDs
    std::size_t ihl = 5;                ///< words
    std::size_t padding = 0;            ///< bytes after the datagram
};

/// Puts the right checksum into the IPv4 header of a frame with `tags` VLAN tags.
inline void sum(Bytes& frame, std::size_t tags = 0) {
    std::uint8_t* const ip = &frame[wire::kEthernetHeader + tags * wire::kVlanTag];
    const std::size_t length =
        std::min<std::size_t>((ip[0] & 0x0FU) * 4, static_cast<std::size_t>(&frame.back() + 1 - ip));
    store_be16(ip + 10, 0);
    store_be16(ip + 10, wire::ipv4_checksum(ip, length));
}

inline Bytes frame(const Bytes& datagram, const Way& way = {}) {
    wire::test::Frame f;
    f.tags = way.tags;
    f.ihl = way.ihl;
    f.payload = datagram;
    f.padding = way.padding;
    Bytes bytes = f.build();
    std::uint8_t* const ip = &bytes[f.ip_at()];
    ip[1] = way.tos;
    store_be16(ip + 4, way.id);
    ip[8] = way.ttl;
    store_be32(ip + 12, way.from);
    store_be32(ip + 16, way.to);
    store_be16(&bytes[f.udp_at()], way.from_port);
    store_be16(&bytes[f.udp_at() + 2], way.port);
    f.sum(bytes);
    return bytes;
}

/// Makes a packet of any flavour that parse_spead accepts. The specials have any order, with items among and
/// after them. Some are repeated, and some packets have no HEAP_LENGTH.
inline wire::test::Packet any_packet(Random& random, bool may_have_control = true) {
    wire::test::Packet p;
    p.flavour = wire::test::any_flavour(random);
    const std::uint64_t most = p.flavour.value_mask();
    const auto up_to = [&](std::uint64_t n) { return (std::uint64_t{random()} << 32 | random()) % (n + 1); };
    const std::uint64_t length = up_to(std::min<std::uint64_t>(most, 200));
    const std::uint64_t offset = up_to(std::min<std::uint64_t>(most - length, 1U << 20));
    p.payload.resize(length);
    for (std::uint8_t& byte : p.payload)
        byte = static_cast<std::uint8_t>(random());
    p.immediate(wire::item::kHeapCnt, up_to(most));
    p.immediate(wire::item::kPayloadOffset, offset);
    p.immediate(wire::item::kPayloadLength, length);
    if (random() % 4 != 0)
        p.immediate(wire::item::kHeapLength,
                    offset + length + up_to(std::min<std::uint64_t>(most - offset - length, 1U << 20)));
    std::shuffle(p.pointers.begin(), p.pointers.end(), random);
    const std::uint64_t items = random() % 3 == 0 ? 0 : up_to(random() % 8 == 0 ? 30 : 6);
    for (std::uint64_t i = 0; i < items; i++) {
        const std::uint64_t id =
            random() % 8 == 0 ? 0 : 7 + up_to(std::min<std::uint64_t>(p.flavour.max_id() - 7, 5000));
        const std::uint64_t raw =
            random() % 3 == 0 ? p.flavour.make_immediate(id, up_to(most))
                              : p.flavour.make_address(id, up_to(std::min<std::uint64_t>(most, 1U << 21)));
        if (random() % 16 == 0)
            p.pointers.insert(p.pointers.begin() + static_cast<std::ptrdiff_t>(up_to(p.pointers.size())),
                              raw);
        else
            p.pointers.push_back(raw);
    }
    if (random() % 16 == 0)  // of a repeated special the last one counts
        p.pointers.insert(p.pointers.begin(), p.flavour.make_immediate(wire::item::kHeapCnt, up_to(most)));
    if (random() % 16 == 0)  // an addressed special is an ordinary item
        p.address(wire::item::kHeapLength, up_to(most));
    if (may_have_control && random() % 12 == 0)
        p.immediate(wire::item::kStreamCtrl, up_to(3));
    return p;
}

/// Returns a classifier of three endpoints: one for any sender, one for the usual sender only, one for both.
inline Classifier three_endpoints() {
    Classifier c;
    c.add({{0xEF010203}, 7148, {}}, {0, 0});
    c.add({{0xEF010204}, 7148, {0x0A000007}}, {1, 2});
    c.add({{0xEF010205}, 7148, {0x0A000007}}, {2, 0});
    c.add({{0xEF010205}, 7148, {}}, {3, 1});
    return c;
}

/// Holds the parsers' result for one packet.
struct Judged {
    std::uint16_t lane = 0;
    std::uint16_t endpoint = 0;
    heap::PacketView view;       ///< without items, arrival, source
    Bytes items;                 ///< words that are no packet specials
    std::size_t payload_at = 0;  ///< from the frame

    bool operator==(const Judged& o) const {
        const auto fields = [](const Judged& j) {
            return std::tuple(j.lane, j.endpoint, j.view.key, j.view.heap_length, j.view.offset,
                              j.view.payload_length, j.view.item_extent, j.view.item_count, j.view.flavour,
                              j.view.flags, j.payload_at);
        };
        return fields(*this) == fields(o) && items == o.items;
    }
};

/// Returns the view of a packet that parse_spead accepts; nothing otherwise.
inline std::optional<Judged> judge_datagram(const std::uint8_t* datagram, std::size_t head_length,
                                            std::size_t length) {
    wire::SpeadPacket p;
    if (wire::parse_spead(datagram, head_length, length, p) != wire::SpeadError::none)
        return std::nullopt;
    Judged j;
    j.view.key = p.heap_cnt;
    j.view.heap_length = p.heap_length;
    j.view.offset = p.payload_offset;
    j.view.payload_length = p.payload_length;
    j.view.item_extent = p.item_extent;
    j.view.flavour = p.address_bits;
    j.payload_at = p.header_length;
    const wire::Flavour flavour(p.address_bits);
    for (std::size_t i = 0; i < p.n_items; i++) {
        const std::uint64_t raw = wire::load_pointer(datagram, i);
        const std::uint64_t id = flavour.id(raw);
        const bool immediate = flavour.is_immediate(raw);
        if (immediate && id >= wire::item::kHeapCnt && id <= wire::item::kPayloadLength)
            continue;
        const std::uint8_t* const at = datagram + wire::kSpeadHeader + wire::kItemPointer * i;
        j.items.insert(j.items.end(), at, at + wire::kItemPointer);
        j.view.item_count++;
        if (immediate && id == wire::item::kStreamCtrl) {
            j.view.flags |= heap::PacketView::kControl;
            if (flavour.value(raw) == wire::stream_ctrl::kStop)
                j.view.flags |= heap::PacketView::kStop;
        } else if (id != wire::item::kNull) {
            j.view.flags |= heap::PacketView::kItems;
        }
    }
    return j;
}

/// Parses a frame in one segment the whole way: network headers, classifier, size, SPEAD.
inline std::optional<Judged> judge(const std::uint8_t* frame, std::size_t length, bool verify,
                                   const Classifier& classifier, std::uint32_t max_packet_size) {
    wire::UdpView udp;
    if (wire::parse_udp(frame, length, length, verify, udp) != PortOutcome::stream)
        return std::nullopt;
    const Target* const target = classifier.find(udp.dst_ip, udp.dst_port, udp.src_ip);
    if (target == nullptr || udp.payload_length > max_packet_size)
        return std::nullopt;
    std::optional<Judged> j =
        judge_datagram(frame + udp.payload_offset, udp.payload_length, udp.payload_length);
    if (!j)
        return std::nullopt;
    j->lane = target->lane;
    j->endpoint = target->endpoint;
    j->payload_at += udp.payload_offset;
    return j;
}

/// Describes a heap that a test sends by hand.
struct MadeHeap {
    std::uint64_t cnt = 1;
    std::size_t length = 1000;
    std::size_t packet = 400;            ///< payload bytes of a packet
    std::vector<std::uint64_t> items{};  ///< raw pointers, in the first packet
    wire::Flavour flavour = wire::Flavour(48);
    bool tells_length = true;

    std::uint8_t byte(std::uint64_t at) const { return heap::test::pattern(cnt, at); }

    /// Returns the datagram with bytes [offset, offset + n).
    Bytes datagram(std::size_t offset, std::size_t n, bool with_items) const {
        wire::test::Packet p;
        p.flavour = flavour;
        p.payload.resize(n);
        for (std::size_t i = 0; i < n; i++)
            p.payload[i] = byte(offset + i);
        p.immediate(wire::item::kHeapCnt, cnt);
        if (tells_length)
            p.immediate(wire::item::kHeapLength, length);
        p.immediate(wire::item::kPayloadOffset, offset);
        p.immediate(wire::item::kPayloadLength, n);
        if (with_items)
            p.pointers.insert(p.pointers.end(), items.begin(), items.end());
        return p.build();
    }
    std::vector<Bytes> datagrams() const {
        std::vector<Bytes> all;
        for (std::size_t at = 0; at < length || all.empty(); at += packet)
            all.push_back(datagram(at, std::min(packet, length - at), at == 0));
        return all;
    }
    std::vector<Bytes> frames(const Way& way = {}) const {
        std::vector<Bytes> all;
        for (const Bytes& d : datagrams())
            all.push_back(frame(d, way));
        return all;
    }
};

/// Makes a datagram with a stop item alone, as spead2 sends it.
inline Bytes stop_datagram(std::uint64_t cnt, wire::Flavour flavour = wire::Flavour(48)) {
    wire::test::Packet p;
    p.flavour = flavour;
    p.payload = {0};
    p.specials(cnt, 1, 0);
    p.immediate(wire::item::kStreamCtrl, wire::stream_ctrl::kStop);
    p.address(wire::item::kNull, 0);
    return p.build();
}

}  // namespace spead::recv::test
