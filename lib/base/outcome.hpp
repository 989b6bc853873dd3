// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Lists the possible outcomes of a received packet. Every packet ends in exactly one of them: either the
/// port refuses it (PortOutcome other than `stream`), or it belongs to a stream and gets one PacketOutcome.
/// The names are those of the report, the prompt, telemetry and metrics (docs/counters.md).
namespace spead {

enum class PacketOutcome : std::uint8_t {
    placed,        ///< contributed bytes or item pointers to a heap
    duplicate,     ///< brought nothing new, or its heap is already complete
    late,          ///< its heap was already given up
    malformed,     ///< breaks a rule of the SPEAD packet, or of the declared format
    oversize,      ///< UDP payload above max_packet_size
    heap_too_big,  ///< heap length above max_heap_bytes
    inconsistent,  ///< partial overlap, other flavour or other heap length
    out_of_order,  ///< strict mode, not the next byte of the heap
    no_memory,     ///< no slot, coverage or item table left for it
    filtered,      ///< a filter said drop
    held,          ///< a filter took the buffer over
    captured,      ///< taken by a capture
    control,       ///< heap that carries only stream control
    stopped,       ///< the stream has stopped
    capture_full,  ///< for a capture whose buffer had no room
    no_item,       ///< lacks an item that the chunks' placement needs
    bad_length,    ///< its heap has another length than the placement's
    bad_step,      ///< a value is between two steps of the placement, or not in its list
    out_of_range,  ///< a value is outside its axis of the placement
    rejected,      ///< the user's place callback refused its heap, or gave an impossible place
    no_chunk,      ///< no chunk was free for it, or another lcore was opening it
    future,        ///< too far ahead of the open chunks, and not yet believed
    invalid,       ///< its sender marks its data as invalid (a declared format)
    redundant,     ///< the stream has two paths, and the bytes are here already, most likely by the other one
    header_in_device,  ///< the port cuts it inside its header, the rest of which lies in memory of a device
    count_
};

enum class PortOutcome : std::uint8_t {
    stream,        ///< given to a stream; counted there
    malformed,     ///< truncated or contradictory Ethernet, IP or UDP lengths
    not_udp,       ///< well formed but not UDP
    fragment,      ///< IP fragment that was not put together with others
    bad_checksum,  ///< the NIC says so, or the IPv4 header's own sum is wrong
    unmatched,     ///< no stream for (group, port), or not from the named source
    igmp,
    arp,
    mld,          ///< IGMP of IPv6 (ICMPv6)
    ndp,          ///< ARP of IPv6 (ICMPv6)
    reassembled,  ///< IP fragment that became part of a datagram; the datagram has its last one's place
    incomplete,   ///< IP fragment of a datagram that was never whole
    count_
};

/// Returns whether packets with this outcome are for the hosts that keep a port reachable.
constexpr bool is_for_hosts(PortOutcome o) noexcept {
    return o == PortOutcome::igmp || o == PortOutcome::arp || o == PortOutcome::mld || o == PortOutcome::ndp;
}

/// Says how a heap left the window.
enum class HeapEnd : std::uint8_t { complete, evicted, timed_out, flushed, count_ };

inline constexpr std::size_t kPacketOutcomes = static_cast<std::size_t>(PacketOutcome::count_);
inline constexpr std::size_t kPortOutcomes = static_cast<std::size_t>(PortOutcome::count_);
inline constexpr std::size_t kHeapEnds = static_cast<std::size_t>(HeapEnd::count_);

inline constexpr std::array<std::string_view, kPacketOutcomes> kPacketOutcomeNames{
    "placed",       "duplicate",    "late",         "malformed",    "oversize",
    "heap_too_big", "inconsistent", "out_of_order", "no_memory",    "filtered",
    "held",         "captured",     "control",      "stopped",      "capture_full",
    "no_item",      "bad_length",   "bad_step",     "out_of_range", "rejected",
    "no_chunk",     "future",       "invalid",      "redundant",    "header_in_device"};
inline constexpr std::array<std::string_view, kPortOutcomes> kPortOutcomeNames{
    "stream", "malformed", "not_udp", "fragment", "bad_checksum", "unmatched",
    "igmp",   "arp",       "mld",     "ndp",      "reassembled",  "incomplete"};
inline constexpr std::array<std::string_view, kHeapEnds> kHeapEndNames{"complete", "evicted", "timed_out",
                                                                       "flushed"};

constexpr std::string_view name_of(PacketOutcome o) {
    return kPacketOutcomeNames[static_cast<std::size_t>(o)];
}
constexpr std::string_view name_of(PortOutcome o) {
    return kPortOutcomeNames[static_cast<std::size_t>(o)];
}
constexpr std::string_view name_of(HeapEnd e) {
    return kHeapEndNames[static_cast<std::size_t>(e)];
}

}  // namespace spead
