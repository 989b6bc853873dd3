// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/paths.hpp"
#include "runtime/plan.hpp"

/// Tells which streams ask for the same packets. Control code; pure.
namespace spead::runtime {

/// Returns whether a packet of one port may belong to both endpoints.
inline bool share_packets(const Endpoint& a, const Endpoint& b) noexcept {
    const bool other_source = a.has_source() && b.has_source() && a.source != b.source;
    return a.address == b.address && a.port == b.port && !other_source;
}

/// Returns whether a packet may belong to both streams.
inline bool share_packets(const ReceivePlan& a, const ReceivePlan& b) noexcept {
    for (std::size_t i = 0; i < path_count(a); i++)
        for (std::size_t j = 0; j < path_count(b); j++)
            if (port_of(a, i) == port_of(b, j) &&
                std::ranges::any_of(endpoints_of(a, i), [&](const Endpoint& mine) {
                    return std::ranges::any_of(endpoints_of(b, j), [&mine](const Endpoint& other) {
                        return share_packets(mine, other);
                    });
                }))
                return true;
    return false;
}

}  // namespace spead::runtime
