// SPDX-License-Identifier: BSD-3-Clause
#include "recv/datagram_lane.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

#include "base/byte_order.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

/// Gives an RX agent packets that no port has received.
namespace spead::recv {

namespace {

/// Limits the bytes of a segment: rte_mbuf has 16 bits for them.
constexpr std::size_t kSegment = 0xFF00;
constexpr std::size_t kSegments = (DatagramLane::kLongestFrame + kSegment - 1) / kSegment;
static_assert(kSegments >= 2, "a datagram has its header in a segment of its own");

/// Limits the memory that heaps rotate through while copies go into the cache. A lane's thread has no CPU of
/// its own, and shares its last cache with the whole machine: beyond a second-level cache, lines may be gone
/// before they are written again.
constexpr std::size_t kCached = std::size_t{4} << 20;

constexpr std::uint64_t kRightSums = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

/// Describes `length` bytes, which are only read. A user may give one reference back, and one more keeps the
/// descriptor out of the pool that it does not have.
void describe(rte_mbuf& m, const std::uint8_t* bytes, std::size_t length) noexcept {
    m.buf_addr = const_cast<std::uint8_t*>(bytes);
    m.data_off = 0;
    rte_mbuf_refcnt_set(&m, 2);
    m.nb_segs = 1;
    m.port = 0;
    m.ol_flags = 0;
    m.packet_type = 0;
    m.pkt_len = static_cast<std::uint32_t>(length);
    m.data_len = static_cast<std::uint16_t>(length);
    m.buf_len = static_cast<std::uint16_t>(length);
    m.next = nullptr;
    m.pool = nullptr;
}

/// Describes the headers of datagrams that went this way.
wire::NetHeaderSpec headers_of(const PacketWay& way) noexcept {
    // RFC 6052 2.1. A source of IPv4 in a packet of IPv6 would be refused.
    constexpr std::uint64_t kTranslated = 0x0064'FF9B'0000'0000;
    wire::NetHeaderSpec spec;
    spec.src_ip = way.source;
    if (way.destination.is_v4())
        spec.src_ip = sender_key(way.source);
    else if (!wire::is_source(way.source.v6()))
        spec.src_ip = Ipv6{kTranslated, way.source.v4().value};
    spec.dst_ip = way.destination;
    spec.src_port = way.source_port;
    spec.dst_port = way.destination_port;
    return spec;
}

/// Returns the UDP checksum to write. Over IPv6 a packet without one would be refused. Nobody looks at its
/// value: it was right, or there was none.
std::uint16_t sum_of(const PacketWay& way) noexcept {
    return way.destination.is_v4() ? 0 : 0xFFFF;
}

/// Writes headers of datagrams. Most go the way of the one before, and have its headers but for the length.
class Headers {
  public:
    void write(std::uint8_t* out, const PacketWay& way, std::size_t length) noexcept {
        if (way.destination != way_.destination || way.source != way_.source ||
            way.source_port != way_.source_port || way.destination_port != way_.destination_port) {
            way_ = way;
            headers_ = wire::NetHeaderTemplate(headers_of(way));
        }
        headers_.write(out, length, sum_of(way));
    }

  private:
    PacketWay way_{};
    wire::NetHeaderTemplate headers_{headers_of(PacketWay{})};
};

/// Limits the item pointers of a SPEAD header that is copied.
constexpr std::size_t kMostPointers = 16;
constexpr std::size_t kMostAhead = wire::kSpeadHeader + kMostPointers * wire::kItemPointer;

/// Returns the length of the SPEAD header that a datagram seems to begin with; 0: there is none, or a long
/// one.
std::size_t spead_header_of(std::span<const std::uint8_t> datagram) noexcept {
    constexpr std::size_t kPointersAt = 6;
    if (datagram.size() < wire::kSpeadHeader)
        return 0;
    const std::size_t header =
        wire::kSpeadHeader + load_be16(datagram.data() + kPointersAt) * wire::kItemPointer;
    return header <= std::min(datagram.size(), kMostAhead) ? header : 0;
}

}  // namespace

std::size_t write_way(std::uint8_t* out, const PacketWay& way, std::size_t length) noexcept {
    return wire::write_headers(out, headers_of(way), length, sum_of(way));
}

/// Holds the descriptors of one burst. It is the receive queue of the lane's source.
struct DatagramLane::Packets {
    struct Packet {
        std::array<rte_mbuf, kSegments> segments;
        std::array<std::uint8_t, wire::kNetHeader6 + kMostAhead> header;
    };

    Packets() {
        for (Packet& p : all)
            for (rte_mbuf& m : p.segments)
                m = {};
    }

    /// Hands the packets over at most once, as a driver does.
    static std::uint16_t burst(void* context, std::uint16_t /*queue*/, rte_mbuf** mbufs, std::uint16_t max) {
        auto& self = *static_cast<Packets*>(context);
        const auto n = static_cast<std::uint16_t>(std::min<std::size_t>(max, self.filled - self.polled));
        for (std::uint16_t i = 0; i < n; i++)
            mbufs[i] = self.all[self.polled + i].segments.data();
        self.polled += n;
        return n;
    }

    void put(const Datagram& d) noexcept {
        const std::size_t length = std::min(d.payload.size(), wire::kMaxUdpPayload);
        const std::size_t headers = d.way.destination.is_v4() ? wire::kNetHeader : wire::kNetHeader6;
        if (d.has_headroom) {
            auto* const frame = const_cast<std::uint8_t*>(d.payload.data()) - headers;
            headers_out.write(frame, d.way, length);
            put(std::span<const std::uint8_t>(frame, headers + length));
            all[filled - 1].segments[0].ol_flags = kRightSums;
            return;
        }
        Packet& p = all[filled++];
        headers_out.write(p.header.data(), d.way, length);
        // With the SPEAD header, too, the agent knows the packet at a glance (BasicRxAgent::cut_path).
        const std::size_t ahead = spead_header_of(d.payload.first(length));
        std::memcpy(p.header.data() + headers, d.payload.data(), ahead);
        rte_mbuf& head = p.segments[0];
        describe(head, p.header.data(), headers + ahead);
        head.ol_flags = kRightSums;
        if (ahead == length && length != 0)
            return;
        describe(p.segments[1], d.payload.data() + ahead, length - ahead);
        head.next = &p.segments[1];
        head.nb_segs = 2;
        head.pkt_len += static_cast<std::uint32_t>(length - ahead);
    }

    void put(std::span<const std::uint8_t> frame) noexcept {
        Packet& p = all[filled++];
        frame = frame.first(std::min(frame.size(), kLongestFrame));
        rte_mbuf& head = p.segments[0];
        describe(head, frame.data(), std::min(frame.size(), kSegment));
        head.pkt_len = static_cast<std::uint32_t>(frame.size());
        rte_mbuf* last = &head;
        for (std::size_t at = kSegment; at < frame.size(); at += kSegment) {
            rte_mbuf& m = p.segments[head.nb_segs++];
            describe(m, frame.data() + at, std::min(frame.size() - at, kSegment));
            last->next = &m;
            last = &m;
        }
    }

    Headers headers_out;
    std::array<Packet, RxAgent::kBurst> all;
    std::size_t filled = 0;
    std::size_t polled = 0;
};

DatagramLane::DatagramLane(const LaneConfig& config, std::size_t memory, std::size_t resident)
    : untouched_(resident >= memory ? 0 : memory::Arena::capacity_for(memory, config.window.max_heap_bytes),
                 resident),
      arena_(resident >= memory ? memory::Arena(memory, config.window.max_heap_bytes)
                                : memory::Arena(untouched_.bytes(), config.window.max_heap_bytes)),
      lane_(config, heap::PoolPlacer(arena_, arena_.capacity())),
      packets_(std::make_unique<Packets>()) {
    const std::uint16_t number = agent_.add_lane(lane_);
    source_.queue = {&Packets::burst, packets_.get(), 0, nullptr};
    source_.keeps_packets = true;
    source_.classifier = Classifier(config.endpoints.size());
    for (std::size_t e = 0; e < config.endpoints.size(); e++)
        source_.classifier.add(config.endpoints[e], {number, static_cast<std::uint16_t>(e)});
    source_.flows = FlowCache(source_.classifier.size());
    source_.flows6 = FlowCache6(source_.classifier.size6());
    source_.lanes.push_back(number);
    agent_.add_source(source_);
    agent_.set_stores(memory::StoresRule(kCached));
}

DatagramLane::~DatagramLane() = default;

void DatagramLane::fill(std::unique_ptr<chunk::ChunkLane> chunks) noexcept {
    agent_.remove_lane(0);
    lane_.chunks = std::move(chunks);
    agent_.add_lane(lane_);
}

void DatagramLane::receive(std::span<const Place> places) {
    const std::uint16_t number = source_.lanes.front();
    SourceTables tables;
    tables.classifier = Classifier(places.size());
    tables.lanes = {number};
    std::size_t size = lane_.endpoints.size();
    for (const Place& p : places) {
        tables.classifier.add(p.endpoint, {number, p.number});
        size = std::max<std::size_t>(size, p.number + std::size_t{1});
    }
    std::vector<std::uint16_t> numbers = lane_.numbers;
    numbers.resize(size);
    for (std::size_t i = 0; i < places.size(); i++)
        numbers[places[i].number] = static_cast<std::uint16_t>(i);
    tables.flows = FlowCache(tables.classifier.size());
    tables.flows6 = FlowCache6(tables.classifier.size6());
    lane_.endpoints.resize(size);
    lane_.unplaced.resize(size);
    lane_.stops_seen.resize(size);
    lane_.numbers = std::move(numbers);
    tables.exchange(source_);
}

/// Gives the agent the packets that were put. Returns how many it took; it forgets the others.
std::size_t DatagramLane::give(std::uint64_t now) noexcept {
    const std::size_t given = packets_->filled;
    std::size_t left = given;
    // A packet that waits is taken after all if nothing can come back that it might wait for: at the second
    // poll.
    for (int in_vain = 0; left != 0 && in_vain < 2;) {
        const std::size_t before = left;
        agent_.poll(now);
        left = packets_->filled - packets_->polled + source_.waiting.count;
        in_vain = left < before ? 0 : in_vain + 1;
    }
    source_.waiting.drop();
    packets_->filled = packets_->polled = 0;
    return given - left;
}

template <class Packet>
std::size_t DatagramLane::take_all(std::span<const Packet> packets, std::uint64_t now) noexcept {
    // Memory that its user has just read is in the cache: it is used again before other memory.
    lane_.window.reclaim();
    std::size_t taken = 0;
    while (taken < packets.size()) {
        for (const Packet& p :
             packets.subspan(taken, std::min<std::size_t>(packets.size() - taken, RxAgent::kBurst)))
            packets_->put(p);
        const std::size_t n = give(now);
        if (n == 0)
            break;
        taken += n;
    }
    return taken;
}

std::size_t DatagramLane::take(std::span<const Datagram> datagrams, std::uint64_t now) noexcept {
    return take_all(datagrams, now);
}

std::size_t DatagramLane::take_frames(std::span<const std::span<const std::uint8_t>> frames,
                                      std::uint64_t now) noexcept {
    return take_all(frames, now);
}

}  // namespace spead::recv
