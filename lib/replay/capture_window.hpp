// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "send/payload_refs.hpp"

namespace spead::replay {

/// Describes a frame in a window's memory.
struct Frame {
    std::uint64_t time_ns = 0;  ///< since the run's first packet, at the capture's own pace
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

/// Holds the least size of a window, which fits any frame.
inline constexpr std::size_t kLeastWindow = std::size_t{64} << 10;

/// Holds a part of the captures in memory, ready to send. The reading thread fills it, then the lcore sends
/// it, any number of times. It is filled again when the lcore has given it back and drained() says that no
/// mbuf refers to it.
struct CaptureWindow {
    std::byte* base = nullptr;
    std::size_t capacity = 0;  ///< bytes: at least kLeastWindow, below 4 GiB
    std::size_t used = 0;
    std::vector<Frame> frames;  ///< ascending in time
    send::PayloadRefs refs;     ///< the lcore's
};

}  // namespace spead::replay
