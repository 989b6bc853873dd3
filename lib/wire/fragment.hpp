// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endpoint.hpp"

/// Reads the headers of IP fragments (RFC 791 3.2, RFC 8200 4.5). Nothing here allocates or throws.
namespace spead::wire {

/// Holds the largest datagram without its IP header: its length has 16 bits.
inline constexpr std::uint32_t kMaxIpPayload = 65535;
/// Holds the next header of IPv6 that says that a fragment header follows (RFC 8200 4.5).
inline constexpr std::uint8_t kNextFragment = 44;

/// Describes a fragment of a UDP datagram. Addresses, ports and lengths are in host order.
struct FragmentView {
    IpAddress source, destination;
    std::uint32_t id;         ///< with both addresses, names the datagram; of IPv4 16 bits
    std::uint16_t l2_length;  ///< bytes of the frame before the IP header
    std::uint16_t l3_length;  ///< of the IP header with its options, or with IPv6's fragment header
    std::uint32_t begin;      ///< place of its bytes in the IP payload
    std::uint32_t end;
    bool more;  ///< it is not the last one
    bool ipv6;
    // Only of the first one:
    std::uint16_t src_port, dst_port;

    bool is_first() const noexcept { return begin == 0; }
    std::uint32_t length() const noexcept { return end - begin; }
    /// Returns the bytes of the frame, without padding.
    std::uint32_t frame_length() const noexcept { return l2_length + l3_length + length(); }
};

/// Reads a frame that parse_udp() calls a fragment: all `length` bytes of it are at `frame`. Returns false
/// when it cannot be put together with others:
///   another protocol than UDP, also in part of IPv6's fragments;
///   no bytes, or a number of them that is no multiple of 8 although others follow;
///   bytes past the largest datagram;
///   IPv6 with options before the fragment header, a source that no host can have (is_source), or the only
///   fragment of its datagram (RFC 6946).
/// The checksum of an IPv4 header is parse_udp's matter.
bool parse_fragment(const std::uint8_t* frame, std::size_t length, FragmentView& out) noexcept;

}  // namespace spead::wire
