// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"
#include "base/ipv6_bytes.hpp"
#include "wire/net.hpp"

/// Describes where the fields of the usual frame are: without tags, options and extension headers. One type
/// for each version of IP; a FlowTemplate is made for one of them.
namespace spead::recv {

/// Receives the mask of the bytes that the frames of one stream have in common.
class HeaderMask {
  public:
    explicit HeaderMask(std::uint8_t* mask) : mask_(mask) {}
    void fix(std::size_t at, std::size_t bytes, std::uint8_t bits = 0xFF) const noexcept {
        std::memset(mask_ + at, bits, bytes);
    }

  private:
    std::uint8_t* mask_;
};

struct Ipv4Frame {
    static constexpr bool kIpv6 = false;
    static constexpr std::size_t kHeader = wire::kNetHeader;
    static constexpr std::size_t kUdp = wire::kEthernetHeader + wire::kIpv4Header;
    static constexpr std::size_t kLength = 16;                         ///< of the length in the IP header
    static constexpr std::size_t kLengthFrom = wire::kEthernetHeader;  ///< of the first byte that it counts

    using Destination = std::uint64_t;
    /// Returns address and port, without the sender's port between them.
    static Destination destination_of(const std::uint8_t* frame) noexcept {
        Destination destination;
        std::memcpy(&destination, frame + 30, sizeof destination);
        return destination & 0xFFFF0000FFFFFFFF;
    }
    static std::uint64_t mix(Destination destination) noexcept { return destination * 0x9E3779B97F4A7C15; }

    static void mask(const HeaderMask& mask, bool from_source) noexcept {
        mask.fix(12, 4);  // Ethernet type, version and IHL, type of service
        mask.fix(20, 4);  // fragment bits, TTL, protocol
        if (from_source)
            mask.fix(26, 4);
        mask.fix(30, 4);  // destination address
        mask.fix(36, 2);  // destination port
    }

    static bool is_acceptable(const std::uint8_t*) noexcept { return true; }

    /// Returns the sum of the header's words that packets of a stream have in common.
    static std::uint64_t fixed_sum(const std::uint8_t* frame) noexcept {
        std::uint64_t fixed = 0;
        for (std::size_t at = wire::kEthernetHeader; at < kUdp; at += 2) {
            std::uint16_t word;
            std::memcpy(&word, frame + at, 2);
            const bool varies = at == 16 || at == 18 || at == 24 || at == 26 || at == 28;
            fixed += varies ? 0 : word;
        }
        return fixed;
    }
    /// Checks the header's sum: all of it must be 0xFFFF.
    static bool sum_is_right(const std::uint8_t* frame, std::uint64_t fixed_sum) noexcept {
        std::uint16_t ip_length, id, checksum;
        std::uint32_t source;
        std::memcpy(&ip_length, frame + 16, 2);
        std::memcpy(&id, frame + 18, 2);
        std::memcpy(&checksum, frame + 24, 2);
        std::memcpy(&source, frame + 26, 4);
        std::uint64_t sum = fixed_sum + ip_length + id + checksum + source;
        sum = (sum & 0xFFFF) + (sum >> 16);
        sum = (sum & 0xFFFF) + (sum >> 16);
        return sum == 0xFFFF;
    }

    static std::uint32_t sender_of(const std::uint8_t* frame) noexcept { return load_be32(frame + 26); }
    static IpAddress source_of(const std::uint8_t* frame) noexcept { return Ipv4{load_be32(frame + 26)}; }
    static IpAddress target_of(const std::uint8_t* frame) noexcept { return Ipv4{load_be32(frame + 30)}; }
};

struct Ipv6Frame {
    static constexpr bool kIpv6 = true;
    static constexpr std::size_t kHeader = wire::kNetHeader6;
    static constexpr std::size_t kUdp = wire::kEthernetHeader + wire::kIpv6Header;
    static constexpr std::size_t kLength = 18;
    static constexpr std::size_t kLengthFrom = kUdp;

    struct Destination {
        Ipv6 address{};
        std::uint16_t port = 0;
        bool operator==(const Destination&) const = default;
    };
    static Destination destination_of(const std::uint8_t* frame) noexcept {
        Destination destination;
        std::memcpy(&destination.address, frame + 38, sizeof destination.address);
        std::memcpy(&destination.port, frame + 56, sizeof destination.port);
        return destination;
    }
    static std::uint64_t mix(const Destination& d) noexcept {
        return (d.address.high * 0x9E3779B97F4A7C15 ^ d.address.low ^ std::uint64_t{d.port} << 16) *
               0x9E3779B97F4A7C15;
    }

    static void mask(const HeaderMask& mask, bool from_source) noexcept {
        mask.fix(12, 2);        // Ethernet type
        mask.fix(14, 1, 0xF0);  // version; the class and the flow label are the sender's business
        mask.fix(20, 1);        // next header
        if (from_source)
            mask.fix(22, 16);
        mask.fix(38, 16);  // destination address
        mask.fix(56, 2);   // destination port
    }

    /// Returns whether there is a UDP checksum, and the source can be a host's.
    static bool is_acceptable(const std::uint8_t* frame) noexcept {
        return load_be16(frame + 60) != 0 && wire::is_source(load_ipv6(frame + 22));
    }
    static std::uint64_t fixed_sum(const std::uint8_t*) noexcept { return 0; }
    static bool sum_is_right(const std::uint8_t*, std::uint64_t) noexcept { return true; }  // has none

    static std::uint32_t sender_of(const std::uint8_t* frame) noexcept {
        return sender_key(load_ipv6(frame + 22));
    }
    static IpAddress source_of(const std::uint8_t* frame) noexcept { return load_ipv6(frame + 22); }
    static IpAddress target_of(const std::uint8_t* frame) noexcept { return load_ipv6(frame + 38); }

    /// Returns whether the frame has at least kHeader bytes, and IPv6 in it.
    static bool is(const std::uint8_t* frame, std::size_t length) noexcept {
        return length >= kHeader && load_be16(frame + 12) == wire::kEtherTypeIpv6;
    }
};

}  // namespace spead::recv
