// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/endpoint.hpp"

/// Defines where the program listens for TCP connections.
namespace spead {

inline constexpr Ipv4 kLoopback{0x7F000001};

struct ListenAddress {
    Ipv4 address = kLoopback;  ///< 0.0.0.0: every address of this machine
    std::uint16_t port = 0;    ///< 0: any free one
    constexpr bool operator==(const ListenAddress&) const = default;
};

/// Parses "127.0.0.1:9100", or "9100" for that port of the loopback address. Throws UsageError that quotes
/// the text.
ListenAddress parse_listen_address(std::string_view text, const std::string& where = {});

/// Formats "127.0.0.1:9100".
std::string to_string(const ListenAddress& listen);

}  // namespace spead
