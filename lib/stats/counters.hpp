// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/outcome.hpp"

/// Counter blocks of the data path. Each block has one writer, the lcore that owns it, which adds with plain
/// arithmetic; another thread reads a block only through that lcore's mailbox (between bursts) or after the
/// lcore has been joined, so every copy is consistent and the identities of stats/snapshot.hpp hold in it.
namespace spead::stats {

inline constexpr std::size_t kCacheLine = 64;

/// One stream on one lcore.
struct alignas(kCacheLine) StreamCounters {
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::uint64_t bytes = 0;  ///< payload bytes placed into heaps
    std::uint64_t heaps_started = 0;
    std::array<std::uint64_t, kHeapEnds> heaps_ended{};
    std::uint64_t heaps_live = 0;
    std::uint64_t heaps_pushed = 0;        ///< put into the hand-over queue
    std::uint64_t heaps_dropped_full = 0;  ///< thrown away because the queue was full
    std::uint64_t heaps_waiting = 0;       ///< ended, not yet in the queue (on_full = block)
    // Informative, outside the identities.
    std::uint64_t packets_reordered = 0;  ///< placed packets that were not the next byte of their heap
    std::uint64_t heaps_interleaved_evictions =
        0;  ///< evicted although still receiving: max_heaps is too small
    std::uint64_t stop_items = 0;
    std::uint64_t held_now = 0;      ///< packets that the filter holds at this moment
    std::uint64_t hold_refused = 0;  ///< it held its fill of them, and the packet was kept or dropped instead

    std::uint64_t& operator[](PacketOutcome o) { return packets[static_cast<std::size_t>(o)]; }
    std::uint64_t operator[](PacketOutcome o) const { return packets[static_cast<std::size_t>(o)]; }
};

/// One receive queue of a port.
struct alignas(kCacheLine) RxCounters {
    std::array<std::uint64_t, kPortOutcomes> packets{};  ///< by outcome; `stream` = handed to streams
    std::uint64_t bytes = 0;                             ///< frame bytes received
    std::uint64_t bursts = 0;                            ///< non-empty rx_bursts
    std::uint64_t full_bursts = 0;
    std::uint64_t vlan_tagged = 0;
    std::uint64_t multi_segment = 0;
    std::uint64_t oversized_frames = 0;  ///< longer than the link allows, or cut to the port's longest
    std::uint64_t hosts_full = 0;  ///< IGMP and ARP frames that came faster than they could be looked at

    std::uint64_t& operator[](PortOutcome o) { return packets[static_cast<std::size_t>(o)]; }
    std::uint64_t operator[](PortOutcome o) const { return packets[static_cast<std::size_t>(o)]; }
};

/// One sender ([[send]]) on its lcore.
struct alignas(kCacheLine) SendCounters {
    std::uint64_t heaps = 0;          ///< with data, completed: all packets given to the driver
    std::uint64_t control_heaps = 0;  ///< heaps without data (stop items), likewise
    std::uint64_t aborted = 0;        ///< given back unsent or partly sent
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< UDP payload bytes
    std::uint64_t frame_bytes = 0;
    std::uint64_t zero_copy_packets = 0;
    std::uint64_t copied_packets = 0;  ///< zero_copy_packets + copied_packets = packets
    std::uint64_t dropped = 0;         ///< built, then freed unsent when the send was abandoned
    // Informative.
    std::uint64_t scheduled = 0;      ///< bursts that carried the time at which the port was to send them
    std::uint64_t dummy_packets = 0;  ///< built and freed to warm caches; they never left
    std::uint64_t unregistered_packets = 0;  ///< copied because their memory lies outside every region
    std::uint64_t tx_full = 0;               ///< bursts the driver did not take whole
    std::uint64_t stalls = 0;                ///< polls without a free mbuf or reference count
};

}  // namespace spead::stats
