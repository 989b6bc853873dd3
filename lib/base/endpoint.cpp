// SPDX-License-Identifier: BSD-3-Clause
#include "base/endpoint.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/ipv6_bytes.hpp"

namespace spead {

namespace {

constexpr std::string_view kScheme = "spead://";

/// Parses digits only, no sign, at most `max`; nothing for any other text.
std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t max) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value > max)
        return std::nullopt;
    return value;
}

/// Holds the address, or why `text` is none.
struct Parsed {
    IpAddress address;
    std::string problem;
};

Parsed read_ipv4(std::string_view text, std::string_view example = "239.1.2.3") {
    const auto shape = [&] {
        return fmt::format(
            "`{}` is not an IPv4 address; give four numbers from 0 to 255 with dots between, as in {}", text,
            example);
    };
    std::uint32_t value = 0;
    std::string_view rest = text;
    for (int octet = 0; octet < 4; octet++) {
        const std::size_t dot = octet < 3 ? rest.find('.') : rest.size();
        if (dot == std::string_view::npos)
            return {{}, shape()};
        const std::string_view digits = rest.substr(0, dot);
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
            return {{}, shape()};
        if (digits.size() > 1 && digits[0] == '0')
            return {
                {},
                fmt::format(
                    "`{}` in `{}` has a leading zero, which some programs read as octal; write it without",
                    digits, text)};
        const auto number = parse_number(digits, 255);
        if (!number)
            return {
                {},
                fmt::format("`{}` in `{}` is above 255, the largest octet of an IPv4 address", digits, text)};
        value = value << 8 | *number;
        rest = octet < 3 ? rest.substr(dot + 1) : std::string_view{};
    }
    return {{value}, {}};
}

Parsed read_ipv6(std::string_view text, std::string_view example = "ff15::1") {
    if (const std::size_t zone = text.find('%'); zone != std::string_view::npos)
        return {{},
                fmt::format("`{}` has the zone `{}`; leave it out, as the port or the interface is the zone",
                            text, text.substr(zone))};
    in6_addr bytes{};
    if (::inet_pton(AF_INET6, std::string(text).c_str(), &bytes) != 1)
        return {
            {},
            fmt::format("`{}` is not an IPv6 address; give groups of hexadecimal digits with colons between, "
                        "as in {}",
                        text, example)};
    const IpAddress address(load_ipv6(&bytes));
    if (address.is_v4())
        return {{},
                fmt::format("`{}` is the IPv4 address {} written as one of IPv6; write the IPv4 address",
                            text, to_string(address))};
    return {address, {}};
}

bool is_in_brackets(std::string_view text) {
    return text.size() >= 2 && text.front() == '[' && text.back() == ']';
}

/// Reads an address of either family; of IPv6 with or without brackets.
Parsed read_ip(std::string_view text) {
    if (is_in_brackets(text))
        return read_ipv6(text.substr(1, text.size() - 2));
    return text.find(':') == std::string_view::npos ? read_ipv4(text) : read_ipv6(text);
}

/// Reads the address of a sender to `destination`, whose family decides how a text of none is refused.
Parsed read_source(std::string_view text, const IpAddress& destination) {
    if (is_in_brackets(text) && text.find(':') != std::string_view::npos)
        text = text.substr(1, text.size() - 2);
    const bool is_v6 = text.find(':') != std::string_view::npos ||
                       (destination.is_v6() && text.find('.') == std::string_view::npos);
    return is_v6 ? read_ipv6(text, "fd00::7") : read_ipv4(text, "10.0.0.7");
}

/// Cuts `text` at the last `mark` and returns the part after it; nothing when there is no mark.
std::optional<std::string_view> cut_at(std::string_view& text, char mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view tail = text.substr(at + 1);
    text = text.substr(0, at);
    return tail;
}

}  // namespace

Ipv4 parse_ipv4(std::string_view text, std::string_view where) {
    const Parsed parsed = read_ipv4(text);
    if (!parsed.problem.empty())
        throw UsageError(std::string(where), parsed.problem);
    return parsed.address.v4();
}

Ipv6 parse_ipv6(std::string_view text, std::string_view where) {
    const Parsed parsed = read_ipv6(text);
    if (!parsed.problem.empty())
        throw UsageError(std::string(where), parsed.problem);
    return parsed.address.v6();
}

IpAddress parse_ip(std::string_view text, std::string_view where) {
    const Parsed parsed = text.find(':') == std::string_view::npos ? read_ipv4(text) : read_ipv6(text);
    if (!parsed.problem.empty())
        throw UsageError(std::string(where), parsed.problem);
    return parsed.address;
}

IpAddress parse_host(std::string_view text, std::string_view where) {
    const IpAddress address = parse_ip(text, where);
    if (address.is_unspecified())
        throw UsageError(std::string(where),
                         fmt::format("`{}` is not the address of a host; give one, as in {}, or leave it out "
                                     "to use the network interface's",
                                     text, address.is_v4() ? "10.0.0.5" : "fd00::5"));
    return address;
}

std::string to_string(Ipv4 address) {
    const std::uint32_t v = address.value;
    return fmt::format("{}.{}.{}.{}", v >> 24, v >> 16 & 0xFF, v >> 8 & 0xFF, v & 0xFF);
}

std::string to_string(const IpAddress& address) {
    if (address.is_v4())
        return to_string(address.v4());
    std::array<unsigned, 8> groups{};
    for (std::size_t i = 0; i < groups.size(); i++)
        groups[i] = (i < 4 ? address.v6().high : address.v6().low) >> (48 - i % 4 * 16) & 0xFFFF;
    // The longest run of at least two zeros, the first of equal ones, is `::`.
    std::size_t run = 0;
    std::size_t length = 1;
    for (std::size_t i = 0; i < groups.size(); i++) {
        std::size_t end = i;
        while (end < groups.size() && groups[end] == 0)
            end++;
        if (end - i > length) {
            run = i;
            length = end - i;
        }
    }
    std::string text;
    for (std::size_t i = 0; i < groups.size(); i++) {
        if (length > 1 && i == run) {
            text += "::";
            i += length - 1;
            continue;
        }
        text += fmt::format("{}{:x}", text.empty() || text.back() == ':' ? "" : ":", groups[i]);
    }
    return text;
}

std::string sender_text(std::uint32_t key) {
    return key >> 28 == 0xF ? fmt::format("an IPv6 sender (hash 0x{:07x})", key & 0x0FFFFFFF)
                            : to_string(Ipv4{key});
}

namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw UsageError(fmt::format("endpoint `{}`: {}", text, why));
}

/// Holds the parts of an endpoint's text.
struct Parts {
    std::string_view address;
    std::optional<std::string_view> range, port, source;
};

Parts endpoint_parts_of(std::string_view text) {
    std::string_view rest = text;
    if (rest.substr(0, kScheme.size()) == kScheme)
        rest.remove_prefix(kScheme.size());
    else if (rest.find("://") != std::string_view::npos)
        refuse(text, fmt::format("the only scheme is {}", kScheme));

    // Cut from the right: source, port, range; the rest is the address.
    Parts parts;
    parts.source = cut_at(rest, '@');
    std::string_view after = rest;
    if (rest.substr(0, 1) == "[") {
        const std::size_t end = rest.find(']');
        if (end == std::string_view::npos)
            refuse(text, "the `]` is missing; write [ADDRESS]:PORT, as in [ff15::1]:7148");
        after = rest.substr(end + 1);
        parts.address = rest.substr(0, end + 1);
        if (!after.empty() && after.front() != ':' && after.front() != '+')
            refuse(text, fmt::format("`{}` follows the `]`; only `+N` and `:PORT` may", after));
    } else if (std::count(rest.begin(), rest.end(), ':') > 1) {
        refuse(text, "an IPv6 address needs brackets; write [ADDRESS]:PORT, as in [ff15::1]:7148");
    }
    parts.port = cut_at(after, ':');
    parts.range = cut_at(after, '+');
    if (parts.address.empty())
        parts.address = after;
    return parts;
}

IpAddress source_of(std::string_view text, std::string_view source, const IpAddress& of) {
    const Parsed parsed = read_source(source, of);
    if (!parsed.problem.empty())
        refuse(text, fmt::format("source: {}", parsed.problem));
    if (parsed.address.is_multicast())
        refuse(text,
               fmt::format("the source {} is a multicast group; name the sender's own address", source));
    if (parsed.address.is_unspecified())
        refuse(text,
               fmt::format("the source {} is not a sender's address; leave `@...` out to accept any source",
                           to_string(parsed.address)));
    if (parsed.address.is_v4() != of.is_v4())
        refuse(text,
               fmt::format("the source {} is an {} address, and the destination {} is of the other family; "
                           "name the sender's {} address, as in `@{}`, or leave `@...` out to accept any "
                           "source",
                           source, parsed.address.is_v4() ? "IPv4" : "IPv6", to_string(of),
                           of.is_v4() ? "IPv4" : "IPv6", of.is_v4() ? "10.0.0.7" : "fd00::7"));
    return parsed.address;
}

/// Refuses groups whose scope lets no packet reach another host, or means nothing (RFC 4291 2.7).
void check_scope(std::string_view text, const IpAddress& address) {
    const auto scope = static_cast<unsigned>(address.v6().high >> 48 & 0xF);
    if (address.is_v4() || !address.is_multicast() || (scope >= 2 && scope <= 14))
        return;
    constexpr std::uint64_t kScope = std::uint64_t{0xF} << 48;
    constexpr std::uint64_t kTransient = std::uint64_t{1} << 52;
    // Groups without the flag of transient ones are assigned by IANA.
    const auto of_scope = [&](std::uint64_t other) {
        return to_string(Ipv6{(address.v6().high & ~kScope) | other << 48 | kTransient, address.v6().low});
    };
    refuse(text,
           fmt::format("the group {} has the scope {:x} (RFC 4291), {}; take {} (scope 5, a site) or {} "
                       "(scope e, global)",
                       to_string(address), scope,
                       scope == 1 ? "so its packets stay on the host's interface" : "which is reserved",
                       of_scope(5), of_scope(14)));
}

/// Returns the address `more` after `first`.
IpAddress later(std::string_view text, const IpAddress& first, std::uint32_t more) {
    const bool is_v4 = first.is_v4();
    const std::uint64_t room = is_v4 ? 0xFFFFFFFFU - first.v4().value : ~first.v6().low;
    if (more > room)
        refuse(text, is_v4 ? fmt::format("the range runs past 255.255.255.255; at most +{} fits", room)
                           : fmt::format("the range runs past the last 64 bits; at most +{} fits", room));
    const IpAddress last = first.after(more);
    if (first.is_multicast() != last.is_multicast())
        refuse(text,
               fmt::format("the range leaves the multicast block 224.0.0.0 to 239.255.255.255 and ends at "
                           "{}; give a smaller one",
                           to_string(last)));
    if (last.is_v4() != is_v4)
        refuse(text, fmt::format("the range runs into the mapped IPv4 address {}", to_string(last)));
    return last;
}

enum class Scopes : std::uint8_t { usable, all };

std::vector<Endpoint> parse_range(std::string_view text, std::uint16_t default_port, Scopes scopes) {
    const Parts parts = endpoint_parts_of(text);
    if (parts.address.empty())
        refuse(text, "the address is missing; write ADDRESS:PORT, as in 239.1.2.3:7148");
    const Parsed first = read_ip(parts.address);
    const std::size_t plus = parts.address.find('+');
    if (!first.problem.empty() && is_in_brackets(parts.address) && plus != std::string_view::npos)
        refuse(text, fmt::format("the range is inside the brackets; write it behind them, as in {}]{}:{}",
                                 parts.address.substr(0, plus),
                                 parts.address.substr(plus, parts.address.size() - 1 - plus),
                                 parts.port.value_or("7148")));
    if (!first.problem.empty())
        refuse(text, first.problem);
    if (scopes == Scopes::usable)
        check_scope(text, first.address);
    const IpAddress source = parts.source ? source_of(text, *parts.source, first.address) : IpAddress{};

    std::uint32_t port = default_port;
    if (parts.port) {
        const auto number = parse_number(*parts.port, 65535);
        if (!number || *number == 0)
            refuse(text, fmt::format("`{}` is not a UDP port; give a number from 1 to 65535", *parts.port));
        port = *number;
    } else if (port == 0) {
        refuse(text, first.address.is_v6()
                         ? "the UDP port is missing; write [ADDRESS]:PORT, as in [ff15::1]:7148"
                         : "the UDP port is missing; write ADDRESS:PORT, as in 239.1.2.3:7148");
    }

    std::uint32_t more = 0;
    if (parts.range) {
        const auto number = parse_number(*parts.range, kMaxEndpointRange - 1);
        if (!number)
            refuse(text,
                   fmt::format("`+{}` is not a range; give the number of further addresses, from 0 to {}",
                               *parts.range, kMaxEndpointRange - 1));
        more = *number;
    }
    later(text, first.address, more);

    std::vector<Endpoint> endpoints;
    endpoints.reserve(more + 1);
    for (std::uint32_t i = 0; i <= more; i++)
        endpoints.push_back({later(text, first.address, i), static_cast<std::uint16_t>(port), source});
    return endpoints;
}

}  // namespace

std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port) {
    return parse_range(text, default_port, Scopes::usable);
}

std::vector<Endpoint> parse_seen_endpoints(std::string_view text) {
    return parse_range(text, 0, Scopes::all);
}

std::string bracketed(const IpAddress& address) {
    return address.is_v4() ? to_string(address) : fmt::format("[{}]", to_string(address));
}

std::string to_string(const Endpoint& endpoint) {
    std::string text = fmt::format("{}:{}", bracketed(endpoint.address), endpoint.port);
    if (endpoint.has_source())
        text += fmt::format("@{}", to_string(endpoint.source));
    return text;
}

void need_one_version(const std::vector<Endpoint>& endpoints, std::string_view where) {
    for (const Endpoint& endpoint : endpoints)
        if (endpoint.address.is_v4() != endpoints.front().address.is_v4())
            throw UsageError(
                std::string(where),
                fmt::format("{} is of another IP version than {}; give each version a sender of its own",
                            to_string(endpoint), to_string(endpoints.front())));
}

}  // namespace spead
