// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spead::stats {

/// What can happen to a stream, mostly to one that is watched (docs/health.md).
enum class StreamEvent : std::uint8_t {
    silent,       ///< no packet for `silent_after`
    back,         ///< a packet after that
    losing,       ///< more than `loss_threshold` of an interval's heaps were lost
    slow,         ///< less than `expected_rate` came
    recovered,    ///< neither losing nor slow any more
    sink_failed,  ///< its sink takes no more heaps; of every stream, watched or not
    stalled,      ///< an lcore that receives it does not answer; likewise, and `back` when it does
    count_
};

inline constexpr std::size_t kStreamEvents = static_cast<std::size_t>(StreamEvent::count_);
inline constexpr std::array<std::string_view, kStreamEvents> kStreamEventNames{
    "silent", "back", "losing", "slow", "recovered", "sink_failed", "stalled"};

constexpr std::string_view name_of(StreamEvent e) {
    return kStreamEventNames[static_cast<std::size_t>(e)];
}

}  // namespace spead::stats
