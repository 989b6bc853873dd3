// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spead::stats {

/// Lists the events of a stream, most of them only of watched ones, and of a sender (docs/health.md).
enum class StreamEvent : std::uint8_t {
    silent,          ///< no packet for `silent_after`
    back,            ///< a packet after that
    losing,          ///< more than `loss_threshold` of an interval's heaps were lost
    slow,            ///< less than `expected_rate` came
    recovered,       ///< neither losing nor slow any more
    sink_failed,     ///< its sink takes no more heaps; of every stream, watched or not
    resync,          ///< the time of its packets jumped, and its chunks with it; likewise of every stream
    stalled,         ///< an lcore that receives it does not answer; likewise, and `back` when it does
    callback_slow,   ///< its place callback takes much of an lcore's time; likewise
    path_silent,     ///< one of its two paths brings no packet while the other one does; likewise
    path_back,       ///< a packet of that path after that
    capture_failed,  ///< a file of its capture cannot be written, so the capture is over; likewise
    // Events of senders.
    stuck,    ///< its port has taken nothing, and given nothing back, for a second
    unstuck,  ///< it does so again
    count_
};

/// Counts the events of received streams: those before `stuck`.
inline constexpr std::size_t kStreamEvents = static_cast<std::size_t>(StreamEvent::stuck);
inline constexpr std::array<std::string_view, kStreamEvents> kStreamEventNames{
    "silent", "back",    "losing",        "slow",        "recovered", "sink_failed",
    "resync", "stalled", "callback_slow", "path_silent", "path_back", "capture_failed"};
/// Counts the events of senders: those from `stuck` on.
inline constexpr std::size_t kSendEvents = static_cast<std::size_t>(StreamEvent::count_) - kStreamEvents;
inline constexpr std::array<std::string_view, kSendEvents> kSendEventNames{"stuck", "unstuck"};

constexpr std::string_view name_of(StreamEvent e) {
    const auto i = static_cast<std::size_t>(e);
    return i < kStreamEvents ? kStreamEventNames[i] : kSendEventNames[i - kStreamEvents];
}

}  // namespace spead::stats
