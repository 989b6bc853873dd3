// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/byte_order.hpp"
#include "send/packetiser.hpp"
#include "wire/flavour.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

namespace spead::send {

/// Says where the UDP checksum is made.
enum class UdpChecksum : std::uint8_t {
    none,      ///< nowhere: 0 on the wire
    software,  ///< in software, over header and payload
    port       ///< in the port (RTE_ETH_TX_OFFLOAD_UDP_CKSUM); software gives it the pseudo header's sum
};

/// Holds all headers before the SPEAD packet for one destination.
class DestinationHeader {
  public:
    DestinationHeader(const wire::NetHeaderSpec& spec, UdpChecksum checksum) noexcept
        : net_(spec),
          src_ip_(spec.src_ip),
          dst_ip_(spec.dst_ip),
          src_port_(spec.src_port),
          dst_port_(spec.dst_port),
          checksum_(checksum) {}

    /// Returns the length in bytes: 42, of IPv6 62, and 4 more with a VLAN tag.
    std::size_t length() const noexcept { return net_.length(); }

    void set_dst_mac(const MacAddress& mac) noexcept { net_.set_dst_mac(mac); }
    void set_source(const MacAddress& mac, const IpAddress& ip) noexcept {
        net_.set_source(mac, ip);
        src_ip_ = ip;
    }
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept { net_.set_ttl_dscp(ttl, dscp); }

    /// Writes length() bytes for a datagram of `udp_payload` bytes, without a software checksum (the field is
    /// 0 then).
    void write(std::uint8_t* out, std::size_t udp_payload) const noexcept {
        net_.write(out, udp_payload,
                   checksum_ == UdpChecksum::port ? pseudo_sum(udp_payload) : std::uint16_t{0});
    }

    /// Puts the software checksum over `payload` (the datagram's pieces in order) into headers that write()
    /// made.
    void patch_checksum(std::uint8_t* out,
                        std::span<const std::span<const std::uint8_t>> payload) const noexcept {
        store_be16(out + length() - 2, wire::udp_checksum(src_ip_, dst_ip_, src_port_, dst_port_, payload));
    }

  private:
    /// Returns the field's value for a port that completes the sum: the folded, uninverted sum of the pseudo
    /// header.
    std::uint16_t pseudo_sum(std::size_t udp_payload) const noexcept {
        std::uint32_t sum = wire::words_of(src_ip_) + wire::words_of(dst_ip_) + wire::kProtocolUdp +
                            static_cast<std::uint32_t>(udp_payload + wire::kUdpHeader);
        sum = (sum & 0xFFFF) + (sum >> 16);
        return static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16));
    }

    wire::NetHeaderTemplate net_;
    IpAddress src_ip_, dst_ip_;
    std::uint16_t src_port_, dst_port_;
    UdpChecksum checksum_;
};

/// Holds the headers of packets to one destination that are alike: in flavour, payload and number of item
/// pointers. A packet then costs a copy of fixed size and the three or more words in which it differs.
class alignas(64) PacketStamp {
  public:
    /// Limits the headers; longer ones have no stamp.
    static constexpr std::size_t kCapacity = 192;

    /// Returns the bytes of all headers of such a packet.
    static std::uint32_t length_of(const DestinationHeader& destination, std::uint32_t pointers) noexcept {
        return static_cast<std::uint32_t>(destination.length() + kPacketPrefix +
                                          wire::kItemPointer * pointers);
    }
    static bool fits(const DestinationHeader& destination, std::uint32_t pointers) noexcept {
        return length_of(destination, pointers) <= kCapacity;
    }

    /// Says which packets are alike; never 0.
    using Kind = std::uint64_t;
    static Kind kind_of(wire::Flavour flavour, std::uint32_t payload, std::uint32_t pointers) noexcept {
        return Kind{flavour.address_bits()} << 48 | Kind{pointers} << 32 | payload;
    }

    bool is(Kind kind) const noexcept { return kind_ == kind; }
    void forget() noexcept { kind_ = 0; }
    /// Sets the headers. Requires fits(destination, pointers).
    void set(const DestinationHeader& destination, wire::Flavour flavour, std::uint32_t payload,
             std::uint32_t pointers) noexcept {
        kind_ = kind_of(flavour, payload, pointers);
        net_ = static_cast<std::uint32_t>(destination.length());
        length_ = length_of(destination, pointers);
        destination.write(bytes_.data(), length_ - net_ + payload);
        Packetiser::write_prefix(flavour, pointers, payload, bytes_.data() + net_);
        cnt_word_ = flavour.make_immediate(wire::item::kHeapCnt, 0);
        heap_word_ = flavour.make_immediate(wire::item::kHeapLength, 0);
        offset_word_ = flavour.make_immediate(wire::item::kPayloadOffset, 0);
    }

    /// Returns the bytes of all headers.
    std::uint32_t length() const noexcept { return length_; }

    /// Writes the headers of a packet, without item pointers, and returns the begin of the SPEAD packet. All
    /// numbers fit the flavour. `out` has room for kCapacity bytes; those beyond length() are undefined
    /// afterwards.
    [[gnu::always_inline]] std::uint8_t* write(std::uint8_t* out, std::uint64_t cnt,
                                               std::uint64_t heap_length,
                                               std::uint64_t offset) const noexcept {
        // Fixed sizes become a few wide stores; 96 bytes hold the usual headers without repeated pointers.
        std::memcpy(out, bytes_.data(), 96);
        if (length_ > 96) [[unlikely]]
            std::memcpy(out + 96, bytes_.data() + 96, 96);
        std::uint8_t* const packet = out + net_;
        store_be64(packet + Packetiser::kCntAt, cnt_word_ | cnt);
        store_be64(packet + Packetiser::kLengthAt, heap_word_ | heap_length);
        store_be64(packet + Packetiser::kOffsetAt, offset_word_ | offset);
        return packet;
    }

  private:
    std::array<std::uint8_t, kCapacity> bytes_{};
    std::uint64_t cnt_word_ = 0, heap_word_ = 0, offset_word_ = 0;
    Kind kind_ = 0;
    std::uint32_t length_ = 0;
    std::uint32_t net_ = 0;
};

/// Holds a stamp with all fields of one heap's run but PAYLOAD_OFFSET, for the packets of one burst. Compared
/// with a stamp's write, it saves each of them two words.
class RunStamp {
  public:
    RunStamp(const PacketStamp& stamp, const Packetiser& packets) noexcept : length_(stamp.length()) {
        std::uint8_t* const packet =
            stamp.write(bytes_.data(), packets.cnt(), packets.layout().payload_length, 0);
        Packetiser::write_pointers(packets.layout(), 0, packets.run_pointers(), packet);
        offset_at_ = static_cast<std::uint32_t>(packet - bytes_.data()) + Packetiser::kOffsetAt;
        offset_word_ = packets.layout().flavour.make_immediate(wire::item::kPayloadOffset, 0);
    }

    std::uint32_t length() const noexcept { return length_; }

    /// Writes the headers of the packet whose payload starts at `offset` of the heap, as PacketStamp::write.
    [[gnu::always_inline]] void write(std::uint8_t* out, std::uint64_t offset) const noexcept {
        std::memcpy(out, bytes_.data(), 96);
        if (length_ > 96) [[unlikely]]
            std::memcpy(out + 96, bytes_.data() + 96, 96);
        store_be64(out + offset_at_, offset_word_ | offset);
    }

  private:
    alignas(64) std::array<std::uint8_t, PacketStamp::kCapacity> bytes_;
    std::uint64_t offset_word_ = 0;
    std::uint32_t length_ = 0;
    std::uint32_t offset_at_ = 0;
};

/// Holds the headers for one destination with the stamps that its packets used last, which the next heaps use
/// again. Belongs to the lcore.
class StampedDestination : public DestinationHeader {
  public:
    explicit StampedDestination(const DestinationHeader& header) noexcept : DestinationHeader(header) {}

    /// Says where in a heap a packet is; of each kind, one stamp is kept.
    enum Place : std::uint8_t { first, run, other };

    /// Writes the headers of a packet at that place, as PacketStamp::write does. A stamp is made when a kind
    /// comes twice in a row: to make one costs as much as the headers of four packets, and two kinds in turn
    /// would never find theirs. Requires PacketStamp::fits(*this, pointers).
    std::uint8_t* write_packet(Place place, std::uint8_t* out, wire::Flavour flavour, std::uint32_t payload,
                               std::uint32_t pointers, std::uint64_t cnt, std::uint64_t heap_length,
                               std::uint64_t offset) noexcept {
        PacketStamp& stamp = stamps_[place];
        const PacketStamp::Kind kind = PacketStamp::kind_of(flavour, payload, pointers);
        if (!stamp.is(kind)) [[unlikely]] {
            if (std::exchange(wanted_[place], kind) != kind) {
                write(out, PacketStamp::length_of(*this, pointers) - length() + payload);
                std::uint8_t* const packet = out + length();
                Packetiser::write_prefix(flavour, pointers, payload, packet);
                store_be64(packet + Packetiser::kCntAt, flavour.make_immediate(wire::item::kHeapCnt, cnt));
                store_be64(packet + Packetiser::kLengthAt,
                           flavour.make_immediate(wire::item::kHeapLength, heap_length));
                store_be64(packet + Packetiser::kOffsetAt,
                           flavour.make_immediate(wire::item::kPayloadOffset, offset));
                return packet;
            }
            stamp.set(*this, flavour, payload, pointers);
        }
        return stamp.write(out, cnt, heap_length, offset);
    }

    /// Returns the stamp of such packets. Requires PacketStamp::fits(*this, pointers).
    const PacketStamp& stamp(Place place, wire::Flavour flavour, std::uint32_t payload,
                             std::uint32_t pointers) noexcept {
        PacketStamp& stamp = stamps_[place];
        if (!stamp.is(PacketStamp::kind_of(flavour, payload, pointers))) [[unlikely]]
            stamp.set(*this, flavour, payload, pointers);
        return stamp;
    }

    void set_dst_mac(const MacAddress& mac) noexcept {
        DestinationHeader::set_dst_mac(mac);
        forget();
    }
    void set_source(const MacAddress& mac, const IpAddress& ip) noexcept {
        DestinationHeader::set_source(mac, ip);
        forget();
    }
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept {
        DestinationHeader::set_ttl_dscp(ttl, dscp);
        forget();
    }

  private:
    void forget() noexcept {
        for (PacketStamp& stamp : stamps_)
            stamp.forget();
    }

    std::array<PacketStamp, 3> stamps_;
    std::array<PacketStamp::Kind, 3> wanted_{};  ///< of the last packet without a stamp
};

}  // namespace spead::send
