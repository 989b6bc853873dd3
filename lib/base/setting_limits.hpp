// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

/// Holds the largest values of settings. The keys of the configuration refuse larger ones, and advice
/// proposes none.
namespace spead {

inline constexpr std::uint64_t kMostLiveHeaps = 65536;                    ///< `max_live`
inline constexpr std::uint64_t kMostQueuedHeaps = 1048576;                ///< `queue_depth`
inline constexpr std::uint64_t kMostHistory = 1048576;                    ///< `history`
inline constexpr std::uint64_t kMostSubstreams = 65536;                   ///< `substreams`
inline constexpr std::uint64_t kMostHeldBuffers = 65536;                  ///< `held_buffers`
inline constexpr std::uint64_t kMostChunks = 65536;                       ///< `chunks`
inline constexpr std::uint64_t kMostOpenChunks = 256;                     ///< `window` of chunks
inline constexpr std::uint64_t kMostBuffer = std::uint64_t{1} << 36;      ///< `buffer_size`, in bytes
inline constexpr std::uint64_t kMostHeapMemory = std::uint64_t{1} << 46;  ///< [memory] `heaps`, in bytes
inline constexpr std::uint64_t kMostHeapBytes = std::uint64_t{2} << 30;   ///< `max_bytes`
inline constexpr std::uint64_t kMostPacket = 65507;                       ///< `max_packet_size`, in bytes
inline constexpr std::uint64_t kMostReassembled = 4096;                   ///< `reassemble_datagrams`

/// Holds the default of `history_time`, in seconds.
inline constexpr double kHistorySeconds = 1;
/// Returns that of a stream with two paths, of which one may be `skew` seconds behind the other: a heap may
/// have ended long before the last copy of its packets comes.
constexpr double path_history_time(double skew) {
    return std::max({kHistorySeconds, skew, std::min(2 * skew, 1e9)});
}

}  // namespace spead
