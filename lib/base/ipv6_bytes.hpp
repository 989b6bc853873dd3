// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"

/// Loads and stores IPv6 addresses as they are on the wire: 16 bytes, at any alignment.
namespace spead {

inline Ipv6 load_ipv6(const void* at) noexcept {
    const auto* const bytes = static_cast<const std::uint8_t*>(at);
    return {load_be64(bytes), load_be64(bytes + 8)};
}
inline void store_ipv6(void* at, const Ipv6& address) noexcept {
    auto* const bytes = static_cast<std::uint8_t*>(at);
    store_be64(bytes, address.high);
    store_be64(bytes + 8, address.low);
}

}  // namespace spead
