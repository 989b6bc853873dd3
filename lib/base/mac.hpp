// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace spead {

/// Holds an Ethernet address, in the order of the wire.
using MacAddress = std::array<std::uint8_t, 6>;

/// Parses "02:53:50:44:00:01": six pairs of hexadecimal digits between colons. Throws UsageError that quotes
/// the text; `where` is its where().
MacAddress parse_mac(std::string_view text, std::string_view where = {});

std::string mac_text(const MacAddress& mac);

}  // namespace spead
