// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Defines stream endpoints: an IPv4 or IPv6 address and a UDP port, optionally only from one source.
namespace spead {

/// Holds an IPv4 address in host order (239.1.2.3 is 0xEF010203).
struct Ipv4 {
    std::uint32_t value = 0;

    constexpr bool is_multicast() const noexcept { return (value >> 28) == 0xE; }
    constexpr auto operator<=>(const Ipv4&) const = default;
};

/// Holds an IPv6 address in host order (ff15::1 is {0xFF15'0000'0000'0000, 1}). Not initialised: it is part
/// of what the data path fills in.
struct Ipv6 {
    std::uint64_t high;
    std::uint64_t low;

    constexpr bool is_multicast() const noexcept { return high >> 56 == 0xFF; }
    constexpr auto operator<=>(const Ipv6&) const = default;
};

/// Holds an IPv4 or an IPv6 address, IPv4 as RFC 4291 maps it into IPv6 (::ffff:a.b.c.d). IPv4 comes first in
/// the order. The default is 0.0.0.0.
class IpAddress {
  public:
    constexpr IpAddress() noexcept : IpAddress(Ipv4{}) {}
    constexpr IpAddress(Ipv4 address) noexcept : bits_{0, kMapped | address.value} {}
    /// Takes an IPv4 address in host order.
    constexpr IpAddress(std::uint32_t ipv4) noexcept : IpAddress(Ipv4{ipv4}) {}
    constexpr IpAddress(const Ipv6& address) noexcept : bits_(address) {}

    constexpr bool is_v4() const noexcept { return bits_.high == 0 && bits_.low >> 32 == kMapped >> 32; }
    constexpr bool is_v6() const noexcept { return !is_v4(); }
    /// Returns the IPv4 address; 0.0.0.0 if it is none.
    constexpr Ipv4 v4() const noexcept {
        return is_v4() ? Ipv4{static_cast<std::uint32_t>(bits_.low)} : Ipv4{};
    }
    /// Returns the address as one of IPv6, an IPv4 address mapped.
    constexpr const Ipv6& v6() const noexcept { return bits_; }

    constexpr bool is_multicast() const noexcept {
        return is_v4() ? v4().is_multicast() : bits_.is_multicast();
    }
    /// Returns whether it is 0.0.0.0 or ::.
    constexpr bool is_unspecified() const noexcept {
        return is_v4() ? v4().value == 0 : (bits_.high | bits_.low) == 0;
    }
    /// Returns whether an IPv6 address says nothing without an interface: fe80::/10, and the groups of the
    /// scopes interface-local and link-local (RFC 4291 2.5.6, 2.7).
    constexpr bool is_link_local() const noexcept {
        const bool group = bits_.is_multicast() && (bits_.high >> 48 & 0xF) <= 2;
        return is_v6() && (bits_.high >> 54 == 0xFE80 >> 6 || group);
    }
    /// Returns the address `n` later; it wraps within the 32 bits of IPv4, or the last 64 of IPv6.
    constexpr IpAddress after(std::uint32_t n) const noexcept {
        return is_v4() ? IpAddress(Ipv4{v4().value + n}) : IpAddress(Ipv6{bits_.high, bits_.low + n});
    }
    constexpr auto operator<=>(const IpAddress&) const = default;

  private:
    static constexpr std::uint64_t kMapped = 0x0000'FFFF'0000'0000;

    Ipv6 bits_;
};

/// Returns 32 bits that tell senders apart: an IPv4 address itself; of IPv6 a hash in 240.0.0.0/4, which
/// RFC 1112 keeps from being addresses. Different IPv6 senders may share one.
constexpr std::uint32_t sender_key(const IpAddress& address) noexcept {
    if (address.is_v4())
        return address.v4().value;
    const std::uint64_t mixed =
        (address.v6().high * 0x9E3779B97F4A7C15 ^ address.v6().low) * 0x9E3779B97F4A7C15;
    return 0xF0000000U | static_cast<std::uint32_t>(mixed >> 36);
}
/// Describes the sender of such a key: "10.0.0.7", or "an IPv6 sender (hash 0x1234567)".
std::string sender_text(std::uint32_t key);

struct Endpoint {
    IpAddress address;
    std::uint16_t port = 0;
    IpAddress source;  ///< 0.0.0.0: any source; else of the address's family

    constexpr bool has_source() const noexcept { return source != IpAddress{}; }
    constexpr auto operator<=>(const Endpoint&) const = default;
};

/// Parses "239.1.2.3". Throws UsageError that quotes the text; `where` is its where().
Ipv4 parse_ipv4(std::string_view text, std::string_view where = {});
std::string to_string(Ipv4 address);

/// Parses "ff15::1" as parse_ip does, and nothing else.
Ipv6 parse_ipv6(std::string_view text, std::string_view where = {});
/// Parses "239.1.2.3" or "ff15::1", the latter without brackets. Throws UsageError like parse_ipv4; also for
/// a zone ("%eth0"), and for an IPv4 address written as one of IPv6.
IpAddress parse_ip(std::string_view text, std::string_view where = {});
/// Parses likewise the address of a host, which is not 0.0.0.0 or ::.
IpAddress parse_host(std::string_view text, std::string_view where = {});
/// Formats IPv6 as RFC 5952 recommends.
std::string to_string(const IpAddress& address);

/// Formats it as an endpoint has it: of IPv6 in brackets.
std::string bracketed(const IpAddress& address);

/// Limits the number of addresses in one range.
inline constexpr std::uint32_t kMaxEndpointRange = 4096;

/// Expands `[spead://]ADDRESS[+N][:PORT][@SOURCE]` into N+1 endpoints with consecutive addresses. ADDRESS is
/// A.B.C.D, or an IPv6 address in brackets; SOURCE may be without them. The port is mandatory unless
/// `default_port` is not 0. Throws UsageError that names the wrong part: no number, an octet or a port out of
/// range, a range above kMaxEndpointRange or past the last address or across the edge of the multicast block,
/// a multicast source, one of the other family.
std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port = 0);
/// Parses destinations of packets that exist already, as parse_endpoints() does. Their groups may have any
/// scope: packets may have been captured on the interface that they stay on.
std::vector<Endpoint> parse_seen_endpoints(std::string_view text);

/// Formats "239.1.2.3:7148" or "[ff15::1]:7148", with "@10.0.0.7" or "@fd00::7" when a source is named.
std::string to_string(const Endpoint& endpoint);

/// Throws UsageError, with its where(), if a sender's endpoints are of both IP versions.
void need_one_version(const std::vector<Endpoint>& endpoints, std::string_view where);

}  // namespace spead
