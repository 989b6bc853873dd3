// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/loader.hpp"
#include "replay/rewrite.hpp"

namespace spead::replay {

/// Says when packets are sent.
enum class Timing : std::uint8_t {
    original,  ///< at the capture's times, divided by `speed`
    bytes,     ///< at `rate` bytes of frames per second
    packets,   ///< at `rate` packets per second
    greedy     ///< as fast as the port takes them
};

struct Options {
    std::vector<std::string> files;
    Loader::Order order = Loader::Order::time;
    Timing timing = Timing::original;
    double speed = 1;
    double rate = 0;
    std::int64_t passes = 1;                          ///< -1: no end
    std::uint64_t memory = std::uint64_t{512} << 20;  ///< bytes of frames kept at once
    RewriteRules rules;
};

}  // namespace spead::replay
