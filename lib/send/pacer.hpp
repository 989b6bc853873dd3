// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::send {

/// How fast a stream may send.
struct Pacing {
    double rate = 0;                   ///< bytes of UDP payload per second; 0: unlimited
    std::uint64_t burst_size = 65536;  ///< bytes handed out before the clock is consulted
    double burst_rate_ratio = 1.05;    ///< how much faster than `rate` a late stream may catch up; at least 1

    bool operator==(const Pacing&) const = default;
};

}  // namespace spead::send
