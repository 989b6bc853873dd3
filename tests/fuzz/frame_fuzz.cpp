// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a received frame: headers, SPEAD packet, item list; IGMP, ARP, MLD, NDP.

#include <algorithm>
#include <span>
#include <vector>

#include "tests/fuzz/captures.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "wire/arp.hpp"
#include "wire/flavour.hpp"
#include "wire/fragment.hpp"
#include "wire/igmp.hpp"
#include "wire/items.hpp"
#include "wire/mld.hpp"
#include "wire/ndp.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"
#include "wire/spead_template.hpp"

namespace {

using namespace spead;
using namespace spead::wire;
using fuzz::ExactCopy;
using fuzz::Input;
using fuzz::require;

void check_items(const std::uint8_t* head, const SpeadPacket& packet) {
    std::vector<std::uint64_t> pointers;
    for (std::size_t i = packet.first_item; i < packet.n_items; ++i) {
        pointers.push_back(load_pointer(head, i));
    }
    const std::uint64_t length = packet.heap_length == kUnknownLength
                                     ? packet.payload_offset + packet.payload_length
                                     : packet.heap_length;
    std::vector<ItemView> items;
    list_items(pointers, Flavour(packet.address_bits), length, items);
    require(items.size() <= pointers.size(), "no more items than pointers");
    std::uint64_t reached = 0;
    for (const ItemView& item : items) {
        if (item.immediate) {
            continue;
        }
        require(item.length > 0 && item.length <= length && item.offset <= length - item.length,
                "items lie in the payload");
        require(item.offset >= reached, "items do not overlap");
        reached = item.offset + item.length;
    }
}

void check_fragment(std::span<const std::uint8_t> frame, PortOutcome outcome) {
    FragmentView view{};
    if (!parse_fragment(frame.data(), frame.size(), view)) {
        return;
    }
    // Software may not have checked the sum; without it the parsers agree.
    require(outcome == PortOutcome::fragment || outcome == PortOutcome::bad_checksum, "it is a fragment");
    require(view.begin < view.end && view.end <= kMaxIpPayload, "its bytes are in a datagram");
    require(view.begin % 8 == 0 && (!view.more || view.end % 8 == 0), "it has whole units");
    require(!view.is_first() || view.more, "there are others");
    require(view.l2_length < 128 && view.l3_length < 512, "the library can hold the lengths");
    require(view.frame_length() <= frame.size(), "its bytes are in the frame");
}

/// Returns the shapes of the seeds, with which a stream's next packet is compared.
const std::vector<SpeadTemplate>& usual_shapes() {
    static const std::vector<SpeadTemplate> shapes = [] {
        std::vector<SpeadTemplate> learned;
        for (const Input& frame : fuzz::seeds()) {
            UdpView udp{};
            SpeadPacket packet{};
            if (parse_udp(frame.data(), frame.size(), frame.size(), false, udp) != PortOutcome::stream) {
                continue;
            }
            const std::uint8_t* const datagram = frame.data() + udp.payload_offset;
            if (parse_spead(datagram, udp.payload_length, udp.payload_length, packet) == SpeadError::none) {
                learned.emplace_back().learn(datagram, packet);
            }
        }
        return learned;
    }();
    return shapes;
}

void check_spead(std::span<const std::uint8_t> datagram) {
    const ExactCopy whole(datagram);
    SpeadPacket packet{};
    const SpeadError error = parse_spead(whole.data(), whole.size(), whole.size(), packet);

    const std::size_t need = std::min(whole.size(), spead_header_need(whole.data(), whole.size()));
    const ExactCopy head(datagram.first(need));
    SpeadPacket from_head{};
    require(parse_spead(head.data(), head.size(), whole.size(), from_head) == error,
            "the header alone decides");

    SpeadPacket matched{};
    for (const SpeadTemplate& shape : usual_shapes()) {
        if (shape.match(whole.data(), whole.size(), whole.size(), matched)) {
            require(error == SpeadError::none && matched == packet,
                    "the short way gives what the long way gives");
        }
    }
    if (error != SpeadError::none) {
        return;
    }
    require(from_head == packet, "the header alone tells the same");
    require(std::uint64_t{packet.header_length} + packet.payload_length == whole.size(),
            "nothing is left over");
    require(Flavour::is_valid(packet.address_bits), "the flavour exists");
    require(packet.heap_length == kUnknownLength ||
                (packet.payload_offset <= packet.heap_length &&
                 packet.payload_length <= packet.heap_length - packet.payload_offset),
            "the payload lies in the heap");
    SpeadTemplate shape;
    shape.learn(whole.data(), packet);
    if (shape.learned()) {
        require(shape.match(whole.data(), whole.size(), whole.size(), matched) && matched == packet,
                "a packet matches its own shape");
    }
    check_items(whole.data(), packet);
}

void check_control6(std::span<const std::uint8_t> frame) {
    if (const auto ndp = parse_ndp(frame, {})) {
        Input again(kNdpRoom);
        again.resize(build_ndp(again, multicast_mac6(ndp->to), {ndp->sender_mac, {}, {}, {}}, *ndp));
        require(parse_ndp(again, {}) == ndp, "what is read is written back");
    }
    MldView mld;
    if (parse_mld(frame, {}, mld) != MldRefusal::none) {
        return;
    }
    std::uint64_t sum = 0;
    const auto read_all = [&sum](const MldSources& sources) {
        for (std::size_t i = 0; i < sources.size(); ++i) {
            sum += sources[i].low;
        }
    };
    read_all(mld.sources);
    unsigned records = 0;
    MldRecordView record;
    for (auto rest = mld.list; MldView::next_record(rest, record); ++records) {
        read_all(record.sources);
    }
    require(records == mld.records, "a report has the records that it says");
    static volatile std::uint64_t used;
    used = used + sum;
}

void check_control(std::span<const std::uint8_t> frame) {
    (void)parse_arp(frame, {});
    check_control6(frame);
    IgmpView igmp;
    if (parse_igmp(frame, {}, igmp) != IgmpRefusal::none) {
        return;
    }
    std::uint32_t sum = 0;
    const auto read_all = [&sum](const IgmpSources& sources) {
        for (std::size_t i = 0; i < sources.size(); ++i) {
            sum += sources[i].value;
        }
    };
    read_all(igmp.sources);
    unsigned records = 0;
    IgmpRecordView record;
    for (auto rest = igmp.list; IgmpView::next_record(rest, record); ++records) {
        read_all(record.sources);
    }
    require(records == igmp.records, "a report has the records that it says");
    static volatile std::uint32_t used;
    used = used + sum;
}

Input spead_packet(unsigned address_bits, std::uint64_t heap_length, std::size_t payload_length,
                   const std::vector<std::uint64_t>& items) {
    const Flavour flavour(address_bits);
    std::vector<std::uint64_t> pointers = {flavour.make_immediate(item::kHeapCnt, 77),
                                           flavour.make_immediate(item::kHeapLength, heap_length),
                                           flavour.make_immediate(item::kPayloadOffset, 0),
                                           flavour.make_immediate(item::kPayloadLength, payload_length)};
    pointers.insert(pointers.end(), items.begin(), items.end());
    Input packet = {kSpeadMagic,
                    kSpeadVersion,
                    static_cast<std::uint8_t>(8 - flavour.address_bytes()),
                    static_cast<std::uint8_t>(flavour.address_bytes()),
                    0,
                    0,
                    0,
                    static_cast<std::uint8_t>(pointers.size())};
    for (const std::uint64_t pointer : pointers) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            packet.push_back(static_cast<std::uint8_t>(pointer >> shift));
        }
    }
    packet.insert(packet.end(), payload_length, std::uint8_t{0xA5});
    return packet;
}

/// Returns the packet in a frame with `tags` VLAN tags and `options` bytes of IPv4 options (a multiple of 4).
Input framed(const Input& payload, std::size_t tags, std::size_t options) {
    Input frame = {0x01, 0x00, 0x5E, 1, 1, 1, 2, 0, 0, 0, 0, 1};
    for (std::size_t i = 0; i < tags; ++i) {
        frame.insert(frame.end(), {0x81, 0x00, 0x00, 0x05});
    }
    frame.insert(frame.end(), {0x08, 0x00});
    Input ip(kIpv4Header + options, std::uint8_t{0});
    const auto udp_length = static_cast<std::uint16_t>(kUdpHeader + payload.size());
    ip[0] = static_cast<std::uint8_t>(0x40 | (ip.size() / 4));
    store_be16(ip.data() + 2, static_cast<std::uint16_t>(ip.size() + udp_length));
    ip[8] = 1;
    ip[9] = kProtocolUdp;
    std::copy_n(std::initializer_list<std::uint8_t>{10, 0, 0, 1, 239, 1, 1, 1}.begin(), 8, ip.begin() + 12);
    store_be16(ip.data() + 10, ipv4_checksum(ip.data(), ip.size()));
    frame.insert(frame.end(), ip.begin(), ip.end());
    std::uint8_t udp[kUdpHeader] = {0x12, 0x34, 0x1B, 0xEC, 0, 0, 0, 0};
    store_be16(udp + 4, udp_length);
    frame.insert(frame.end(), std::begin(udp), std::end(udp));
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

/// Returns messages of MLD and NDP.
std::vector<Input> frames_of_hosts6() {
    const LinkAddress who{{2, 0, 0, 0, 0, 9}, {}, {}, link_local_of({2, 0, 0, 0, 0, 9})};
    const Ipv6 group{0xFF15000000000000, 1};
    const Ipv6 sources[] = {{0xFD00000000000000, 1}, {0xFD00000000000000, 2}};
    std::vector<Input> inputs;
    for (const auto version : {std::uint8_t{1}, std::uint8_t{2}}) {
        Input query(200);
        query.resize(build_mld_query(query, who, {.version = version, .group = group, .sources = sources}));
        inputs.push_back(query);
    }
    Input report(200);
    MldReport builder(report, who);
    (void)builder.add(MldRecordType::allow, group, sources);
    (void)builder.add(MldRecordType::is_exclude, group, {});
    report.resize(builder.finish());
    inputs.push_back(report);
    for (const NdpType type : {NdpType::solicitation, NdpType::advertisement}) {
        NdpPacket packet;
        packet.type = type;
        packet.from = who.link_local;
        packet.to = packet.target = sources[0];
        packet.mac = who.mac;
        Input frame(kNdpRoom);
        frame.resize(build_ndp(frame, who.mac, who, packet));
        inputs.push_back(frame);
    }
    return inputs;
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    const Flavour f40(40);
    const Flavour f48(48);
    const Input packets[] = {
        spead_packet(40, 256, 256, {f40.make_address(0x1000, 0)}),
        spead_packet(48, 4096, 100, {f48.make_address(0x1000, 0), f48.make_address(0x1001, 64)}),
        spead_packet(40, 1, 1, {f40.make_immediate(item::kStreamCtrl, 2), f40.make_address(item::kNull, 0)}),
        spead_packet(40, 64, 64,
                     {f40.make_immediate(0x1001, 12), f40.make_address(0x1002, 32), f40.make_address(0, 48),
                      f40.make_address(item::kDescriptor, 0)}),
        spead_packet(8, 64, 64, {}),
        spead_packet(56, 64, 64, {Flavour(56).make_address(5, 0)}),
    };
    std::vector<Input> inputs;
    for (const Input& packet : packets) {
        for (const std::size_t tags : {0U, 1U, 2U, 3U}) {
            for (const std::size_t options : {0U, 4U, 40U}) {
                inputs.push_back(framed(packet, tags, options));
            }
        }
    }
    for (const int next : {17, 0, 60, 44}) {
        NetHeaderSpec way;
        way.dst_ip = Ipv6{0xFF15000000000000, 1};
        way.dst_port = 7148;
        const Input packet = spead_packet(48, 200, 200, {});
        Input frame(kNetHeader6);
        write_headers(frame.data(), way, packet.size(), 0xBEEF);
        frame.insert(frame.end(), packet.begin(), packet.end());
        if (next != 17) {
            const Input extension = {17, 0, 0, 1, 0, 0, 0, 7};
            frame[20] = static_cast<std::uint8_t>(next);
            frame[19] = static_cast<std::uint8_t>(frame[19] + extension.size());
            frame.insert(frame.begin() + kEthernetHeader + kIpv6Header, extension.begin(), extension.end());
        }
        inputs.push_back(frame);
    }
    const LinkAddress who{{2, 0, 0, 0, 0, 9}, {0x0A000009}, {}};
    const Ipv4 sources[] = {{0x0A000001}, {0x0A000002}};
    for (const auto version : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
        Input query(200);
        query.resize(
            build_igmp_query(query, who, {.version = version, .group = {0xEF010203}, .sources = sources}));
        inputs.push_back(query);
    }
    Input bytes(200);
    IgmpReport report(bytes, who);
    (void)report.add(IgmpRecordType::allow, {0xEF010203}, sources);
    (void)report.add(IgmpRecordType::is_exclude, {0xEF010204}, {});
    bytes.resize(report.finish());
    inputs.push_back(bytes);
    Input arp(kLeastFrame);
    arp.resize(
        build_arp(arp, kBroadcastMac, who, {ArpOperation::request, who.mac, who.ip, {}, {0x0A000001}}));
    inputs.push_back(arp);
    for (Input& frame : frames_of_hosts6()) {
        inputs.push_back(std::move(frame));
    }
    constexpr std::size_t kPerCapture = 4;
    constexpr std::size_t kLongest = 700;
    for (const std::string& name : fuzz::capture_names()) {
        for (Input& frame : fuzz::captured_frames(name, kPerCapture, kLongest)) {
            inputs.push_back(std::move(frame));
        }
    }
    return inputs;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ExactCopy frame({data, size});
    check_control({frame.data(), size});
    const bool verify = (size & 1) != 0;
    UdpView udp{};
    const PortOutcome outcome = parse_udp(frame.data(), size, size, verify, udp);

    check_fragment({frame.data(), size}, outcome);

    UdpView again{};
    require(parse_udp_general(frame.data(), size, size, verify, again) == outcome,
            "both parsers say the same");
    const ExactCopy head({data, std::min(size, kMaxNetHeader)});
    UdpView from_head{};
    require(parse_udp(head.data(), head.size(), size, verify, from_head) == outcome,
            "the headers alone decide");
    if (outcome != PortOutcome::stream) {
        return 0;
    }
    require(udp == again && udp == from_head, "all find the same datagram");
    require(!udp.ipv6 || load_be16(data + udp.payload_offset - 2) != 0, "IPv6 has a UDP checksum");
    require(std::uint64_t{udp.payload_offset} + udp.payload_length <= size, "the payload lies in the frame");
    check_spead({data + udp.payload_offset, udp.payload_length});
    return 0;
}
