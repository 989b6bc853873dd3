// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

    /// Returns the length in bytes: 42, or 46 with a VLAN tag.
    std::size_t length() const noexcept { return net_.length(); }

    void set_dst_mac(const MacAddress& mac) noexcept { net_.set_dst_mac(mac); }
    void set_source(const MacAddress& mac, Ipv4 ip) noexcept {
        net_.set_source(mac, ip.value);
        src_ip_ = ip.value;
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
        std::uint32_t sum = (src_ip_ >> 16) + (src_ip_ & 0xFFFF) + (dst_ip_ >> 16) + (dst_ip_ & 0xFFFF) +
                            wire::kProtocolUdp + static_cast<std::uint32_t>(udp_payload + wire::kUdpHeader);
        sum = (sum & 0xFFFF) + (sum >> 16);
        return static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16));
    }

    wire::NetHeaderTemplate net_;
    std::uint32_t src_ip_, dst_ip_;
    std::uint16_t src_port_, dst_port_;
    UdpChecksum checksum_;
};

/// Holds the headers of the similar packets of one heap (Packetiser::Run): only PAYLOAD_OFFSET is patched per
/// packet.
class alignas(64) PacketStamp {
  public:
    /// Limits the headers; longer ones have no stamp.
    static constexpr std::size_t kCapacity = 192;

    static bool fits(const DestinationHeader& destination, const Packetiser& packets) noexcept {
        return destination.length() + packets.run_header() <= kCapacity;
    }

    /// Sets the headers. Requires fits(destination, packets).
    void set(const DestinationHeader& destination, const Packetiser& packets,
             wire::Flavour flavour) noexcept {
        const std::size_t net = destination.length();
        destination.write(bytes_.data(), packets.run_header() + packets.run_payload());
        packets.write_run_header(bytes_.data() + net);
        length_ = static_cast<std::uint32_t>(net + packets.run_header());
        offset_at_ = static_cast<std::uint32_t>(net + Packetiser::kOffsetAt);
        offset_word_ = flavour.make_immediate(wire::item::kPayloadOffset, 0);
    }

    std::uint32_t length() const noexcept { return length_; }

    /// Writes the headers of the packet whose payload starts at `offset` of the heap. `out` has room for
    /// kCapacity bytes; those beyond length() are undefined afterwards.
    [[gnu::always_inline]] void write(std::uint8_t* out, std::uint64_t offset) const noexcept {
        // Fixed sizes become a few wide stores; 96 bytes hold the usual headers without repeated pointers.
        std::memcpy(out, bytes_.data(), 96);
        if (length_ > 96) [[unlikely]]
            std::memcpy(out + 96, bytes_.data() + 96, 96);
        store_be64(out + offset_at_, offset_word_ | offset);
    }

  private:
    std::array<std::uint8_t, kCapacity> bytes_{};
    std::uint64_t offset_word_ = 0;
    std::uint32_t length_ = 0;
    std::uint32_t offset_at_ = 0;
};

}  // namespace spead::send
