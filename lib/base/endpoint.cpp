// SPDX-License-Identifier: BSD-3-Clause
#include "base/endpoint.hpp"

#include <charconv>
#include <optional>

#include "base/error.hpp"

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
    Ipv4 address;
    std::string problem;
};

Parsed read_ipv4(std::string_view text) {
    const auto shape = [&] {
        return fmt::format(
            "`{}` is not an IPv4 address; give four numbers from 0 to 255 with dots between, as in 239.1.2.3",
            text);
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
    return parsed.address;
}

std::string to_string(Ipv4 address) {
    const std::uint32_t v = address.value;
    return fmt::format("{}.{}.{}.{}", v >> 24, v >> 16 & 0xFF, v >> 8 & 0xFF, v & 0xFF);
}

std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port) {
    const auto fail = [text](const std::string& why) {
        throw UsageError(fmt::format("endpoint `{}`: {}", text, why));
    };
    std::string_view rest = text;
    if (rest.substr(0, kScheme.size()) == kScheme)
        rest.remove_prefix(kScheme.size());
    else if (rest.find("://") != std::string_view::npos)
        fail(fmt::format("the only scheme is {}", kScheme));

    // Cut from the right: source, port, range; the rest is the address.
    const auto source_text = cut_at(rest, '@');
    const auto port_text = cut_at(rest, ':');
    const auto range_text = cut_at(rest, '+');

    if (rest.empty())
        fail("the address is missing; write ADDRESS:PORT, as in 239.1.2.3:7148");
    const Parsed first = read_ipv4(rest);
    if (!first.problem.empty())
        fail(first.problem);

    Ipv4 source;
    if (source_text) {
        const Parsed parsed = read_ipv4(*source_text);
        if (!parsed.problem.empty())
            fail(fmt::format("source: {}", parsed.problem));
        if (parsed.address.is_multicast())
            fail(fmt::format("the source {} is a multicast group; name the sender's own address",
                             *source_text));
        if (parsed.address.value == 0)
            fail("the source 0.0.0.0 is not a sender's address; leave `@...` out to accept any source");
        source = parsed.address;
    }

    std::uint32_t port = default_port;
    if (port_text) {
        const auto number = parse_number(*port_text, 65535);
        if (!number || *number == 0)
            fail(fmt::format("`{}` is not a UDP port; give a number from 1 to 65535", *port_text));
        port = *number;
    } else if (port == 0) {
        fail("the UDP port is missing; write ADDRESS:PORT, as in 239.1.2.3:7148");
    }

    std::uint32_t more = 0;
    if (range_text) {
        const auto number = parse_number(*range_text, kMaxEndpointRange - 1);
        if (!number)
            fail(fmt::format("`+{}` is not a range; give the number of further addresses, from 0 to {}",
                             *range_text, kMaxEndpointRange - 1));
        more = *number;
    }
    const std::uint64_t last = std::uint64_t{first.address.value} + more;
    if (last > 0xFFFFFFFFu)
        fail(fmt::format("the range runs past 255.255.255.255; at most +{} fits",
                         0xFFFFFFFFu - first.address.value));
    const Ipv4 last_address{static_cast<std::uint32_t>(last)};
    if (first.address.is_multicast() != last_address.is_multicast())
        fail(
            fmt::format("the range leaves the multicast block 224.0.0.0 to 239.255.255.255 and ends at {}; "
                        "give a smaller one",
                        to_string(last_address)));

    std::vector<Endpoint> endpoints;
    endpoints.reserve(more + 1);
    for (std::uint32_t i = 0; i <= more; i++)
        endpoints.push_back({{first.address.value + i}, static_cast<std::uint16_t>(port), source});
    return endpoints;
}

std::string to_string(const Endpoint& endpoint) {
    std::string text = fmt::format("{}:{}", to_string(endpoint.address), endpoint.port);
    if (endpoint.has_source())
        text += fmt::format("@{}", to_string(endpoint.source));
    return text;
}

}  // namespace spead
