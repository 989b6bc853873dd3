// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Defines stream endpoints: an IPv4 address and a UDP port, optionally only from one source.
namespace spead {

/// Holds an IPv4 address in host order (239.1.2.3 is 0xEF010203).
struct Ipv4 {
    std::uint32_t value = 0;

    constexpr bool is_multicast() const noexcept { return (value >> 28) == 0xE; }
    constexpr auto operator<=>(const Ipv4&) const = default;
};

struct Endpoint {
    Ipv4 address;
    std::uint16_t port = 0;
    Ipv4 source;  ///< 0.0.0.0: any source

    constexpr bool has_source() const noexcept { return source.value != 0; }
    constexpr auto operator<=>(const Endpoint&) const = default;
};

/// Parses "239.1.2.3". Throws UsageError that quotes the text; `where` is its where().
Ipv4 parse_ipv4(std::string_view text, std::string_view where = {});
std::string to_string(Ipv4 address);

/// Limits the number of addresses in one range.
inline constexpr std::uint32_t kMaxEndpointRange = 4096;

/// Expands `[spead://]A.B.C.D[+N][:PORT][@SOURCE]` into N+1 endpoints with consecutive addresses. The port is
/// mandatory unless `default_port` is not 0. Throws UsageError that names the wrong part: no number, an octet
/// or a port out of range, a range above kMaxEndpointRange or past 255.255.255.255 or across the edge of the
/// multicast block, a multicast source.
std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port = 0);

/// Formats "239.1.2.3:7148", with "@10.0.0.7" when a source is named.
std::string to_string(const Endpoint& endpoint);

}  // namespace spead
