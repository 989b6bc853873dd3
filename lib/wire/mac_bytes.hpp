// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "base/mac.hpp"

/// Reads MAC addresses in messages of ARP and NDP.
namespace spead::wire {

inline MacAddress load_mac(const std::uint8_t* from) noexcept {
    MacAddress mac;
    std::memcpy(mac.data(), from, mac.size());
    return mac;
}

/// Returns whether a host can have the address: it is no group's, and not zero.
inline bool can_be_a_host(const MacAddress& mac) noexcept {
    return (mac[0] & 1) == 0 && mac != MacAddress{};
}

}  // namespace spead::wire
