// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/outcome.hpp"
#include "stats/few_sources.hpp"

/// Holds the counter blocks of the data path. Each block has one writer, the lcore that owns it, which adds
/// with plain arithmetic. Another thread reads a block only through that lcore's mailbox (between bursts) or
/// after the lcore has been joined. So every copy is consistent and the identities of stats/snapshot.hpp hold
/// in it.
namespace spead::stats {

inline constexpr std::size_t kCacheLine = 64;

/// Holds the times of the first and last event, in ticks of the lcores' clock.
struct ActiveTime {
    std::uint64_t first = 0;  ///< 0: none
    std::uint64_t last = 0;

    void seen(std::uint64_t now) noexcept {
        if (first == 0) [[unlikely]]
            first = now;
        last = now;
    }
    void add(const ActiveTime& other) noexcept {
        if (other.first != 0 && (first == 0 || other.first < first))
            first = other.first;
        last = std::max(last, other.last);
    }
    /// Removes the events until then. If the beginning of the rest is unknown, the end of `before` replaces
    /// it.
    void take(const ActiveTime& before) noexcept {
        if (last <= before.last)
            *this = {};
        else
            first = std::max(first, before.last);
    }
    std::uint64_t ticks() const noexcept { return last - first; }
    bool operator==(const ActiveTime&) const = default;
};

/// Counts the work of a user's place callback (chunk/callback.hpp) for one stream on one lcore.
struct CallbackCounts {
    std::uint64_t calls = 0;
    std::uint64_t heaps = 0;     ///< that it was asked about
    std::uint64_t cycles = 0;    ///< in it
    std::uint64_t rejected = 0;  ///< heaps with a negative chunk id
    std::uint64_t nonsense = 0;  ///< heaps whose place is not in the chunk
};

/// Counts for one endpoint of a stream on one lcore.
struct EndpointCounters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< payload bytes placed into heaps

    void add(const EndpointCounters& other) noexcept {
        packets += other.packets;
        bytes += other.bytes;
    }
};

/// Counts an endpoint's packets that were not placed. They are apart from the others, which every packet
/// touches.
struct UnplacedCounters {
    std::uint64_t all = 0;
    std::uint64_t redundant = 0;
    std::uint64_t repeated = 0;
    std::uint64_t late = 0;
    std::uint64_t control = 0;

    void note(PacketOutcome outcome) noexcept {
        all++;
        control += outcome == PacketOutcome::control;
        redundant += outcome == PacketOutcome::redundant;
        repeated += outcome == PacketOutcome::duplicate;
        late += outcome == PacketOutcome::late;
    }
};

/// Counts for one path of a stream that has two.
struct PathCounters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;   ///< payload bytes placed
    std::uint64_t placed = 0;  ///< of `packets`, as the next four
    std::uint64_t redundant = 0;
    std::uint64_t repeated = 0;  ///< the path itself had brought them
    std::uint64_t late = 0;
    std::uint64_t control = 0;  ///< stream control alone, and the first copy
    /// Counts those of `placed` that the other path had brought so long before that their heap was forgotten:
    /// it is delivered again. An estimate where many packets come.
    std::uint64_t forgotten = 0;
    std::uint64_t forgotten_after = 0;  ///< ticks, of the one that came last after its copy. No count
    /// Counts the packets, each once, that the path has passed: it has brought later ones, or had the time to
    /// bring them. Those before its own first one are not among them.
    std::uint64_t passed = 0;
    /// Holds the packets that it may bring as copies: the other path has just brought them. No count.
    std::uint64_t awaited = 0;
    /// Holds `awaited` of the time from which the others count.
    std::uint64_t awaited_before = 0;

    void add(const EndpointCounters& endpoint, const UnplacedCounters& unplaced) noexcept {
        packets += endpoint.packets;
        bytes += endpoint.bytes;
        placed += endpoint.packets - unplaced.all;
        redundant += unplaced.redundant;
        repeated += unplaced.repeated;
        late += unplaced.late;
        control += unplaced.control;
    }
    void add(const PathCounters& other) noexcept {
        packets += other.packets;
        bytes += other.bytes;
        placed += other.placed;
        redundant += other.redundant;
        repeated += other.repeated;
        late += other.late;
        control += other.control;
        forgotten += other.forgotten;
        forgotten_after = std::max(forgotten_after, other.forgotten_after);
        passed += other.passed;
        awaited += other.awaited;
        awaited_before += other.awaited_before;
    }
    void take(const PathCounters& before) noexcept {
        packets -= before.packets;
        bytes -= before.bytes;
        placed -= before.placed;
        redundant -= before.redundant;
        repeated -= before.repeated;
        late -= before.late;
        control -= before.control;
        forgotten -= std::min(forgotten, before.forgotten);
        if (forgotten == 0)
            forgotten_after = 0;
        passed -= std::min(passed, before.passed);
        awaited_before = before.awaited;
    }
};

/// Limits the paths by which a stream may come.
inline constexpr std::size_t kMaxPaths = 2;

/// Counts for one stream on one lcore.
struct alignas(kCacheLine) StreamCounters {
    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::uint64_t bytes = 0;  ///< payload bytes placed into heaps
    std::uint64_t heaps_started = 0;
    std::array<std::uint64_t, kHeapEnds> heaps_ended{};
    std::uint64_t heaps_live = 0;
    std::uint64_t heaps_pushed = 0;        ///< put into the hand-over queue
    std::uint64_t heaps_dropped_full = 0;  ///< discarded because the queue was full
    std::uint64_t heaps_waiting = 0;       ///< ended, not yet in the queue (on_full = block)
    std::uint64_t heaps_device_error = 0;  ///< discarded because the engine that moves payload failed
    // Informative, outside the identities.
    std::uint64_t packets_reordered = 0;  ///< placed packets that were not the next byte of their heap
    std::uint64_t heaps_interleaved_evictions =
        0;  ///< evicted although still receiving: max_heaps is too small
    /// Counts the bytes of heaps that were given up which their lengths announced and which did not come.
    /// Packets are an estimate.
    std::uint64_t missing_bytes = 0;
    std::uint64_t missing_packets = 0;
    ActiveTime active;  ///< its packets; no count: cleared by its lcore
    std::uint64_t stop_items = 0;
    std::uint64_t heaps_dropped_oldest = 0;  ///< of heaps_dropped_full, those that had been in the queue
    std::uint64_t control_bytes = 0;  ///< taken off `bytes` again: of heaps that carried stream control only
    std::uint64_t packets_at_limit =
        0;                           ///< of no_memory: their heap has all item pointers or holes it may have
    std::uint64_t heaps_ghosts = 0;  ///< evicted after a packet or two: probably forged or stray counts
    std::uint64_t heaps_dropped_ghosts = 0;  ///< of heaps_dropped_full: ghosts that got no place
    /// Holds the source of most of the ghosts, and their number; counted until the counters are cleared.
    std::uint32_t ghosts_source = 0;
    std::uint64_t ghosts_of_source = 0;
    std::uint64_t held_now = 0;        ///< packets that the filter holds at this moment
    std::uint64_t hold_refused = 0;    ///< it held its limit, and the packet was kept or dropped instead
    std::uint64_t rotating_bytes = 0;  ///< memory that payload was lately written to in turn
    std::uint64_t streaming_now = 0;   ///< 1: payload is copied past the cache at this moment
    std::uint64_t lent_now = 0;        ///< packets of heaps that stay in the port's buffers at this moment
    std::uint64_t lend_full = 0;  ///< heaps of which packets were copied because as many were lent as may be
    std::uint32_t longest_header = 0;  ///< bytes of the frame up to the payload, of header_in_device packets
    std::uint32_t longest_packet = 0;  ///< bytes of UDP payload, of oversize packets
    FewSources cut_sources;            ///< of those packets
    CallbackCounts callback;
    // Only of a stream with chunks.
    /// Counts the tracked heaps of which packets were `late`.
    std::uint64_t heaps_late = 0;
    FewSources late_sources;
    FewSources future_sources;
    std::uint64_t goes_direct = 0;   ///< 1: every packet tells its place, as far as is known
    std::uint64_t goes_tracked = 0;  ///< 1: only the first packet of a heap does
    /// Holds the bytes of the last packet that was cut otherwise than those before, and theirs; 0: none.
    std::uint32_t odd_packet = 0;
    std::uint32_t usual_packet = 0;
    /// Counts for each path of a stream that has two: those of former endpoints, to which looks add the
    /// present ones' (recv/lane.hpp).
    std::array<PathCounters, kMaxPaths> paths{};

    std::uint64_t& operator[](PacketOutcome o) { return packets[static_cast<std::size_t>(o)]; }
    std::uint64_t operator[](PacketOutcome o) const { return packets[static_cast<std::size_t>(o)]; }
};

/// Counts the bins of bursts by packets: 1, 2 to 3, 4 to 7... and a bin for full ones.
inline constexpr std::size_t kBurstBins = 7;
inline constexpr std::uint16_t kFullBurst = 1U << (kBurstBins - 1);
using BurstSizes = std::array<std::uint64_t, kBurstBins>;
/// Returns the bin; `packets` is 1..kFullBurst.
constexpr std::size_t burst_bin(std::uint16_t packets) {
    return static_cast<std::size_t>(std::bit_width(packets)) - 1;
}

/// Counts datagrams that are put together from IP fragments (recv/reassembler.hpp).
struct ReassemblyCounts {
    std::uint64_t datagrams = 0;    ///< made whole
    std::uint64_t given_up = 0;     ///< never whole; the next three are among them
    std::uint64_t too_many = 0;     ///< came in more fragments than can be put together
    std::uint64_t conflicting = 0;  ///< their fragments overlap, or contradict each other
    std::uint64_t crowded_out = 0;  ///< gave their place to another datagram
    std::uint64_t held_now = 0;     ///< fragments that are held at this moment, and counted nowhere else
    /// Counts fragments that would be put together: they are of streams' datagrams, and the port puts none
    /// together.
    std::uint64_t wanted = 0;

    void add(const ReassemblyCounts& other) noexcept {
        datagrams += other.datagrams;
        given_up += other.given_up;
        too_many += other.too_many;
        conflicting += other.conflicting;
        crowded_out += other.crowded_out;
        held_now += other.held_now;
        wanted += other.wanted;
    }
    void take(const ReassemblyCounts& before) noexcept {
        datagrams -= before.datagrams;
        given_up -= before.given_up;
        too_many -= before.too_many;
        conflicting -= before.conflicting;
        crowded_out -= before.crowded_out;
        wanted -= before.wanted;
    }
};

/// Counts for one receive queue of a port.
struct alignas(kCacheLine) RxCounters {
    std::array<std::uint64_t, kPortOutcomes> packets{};  ///< by outcome; `stream` = given to streams
    std::uint64_t bytes = 0;                             ///< frame bytes received
    std::uint64_t bursts = 0;                            ///< non-empty rx_bursts
    std::uint64_t full_bursts = 0;
    BurstSizes burst_sizes{};
    std::uint64_t vlan_tagged = 0;
    std::uint64_t multi_segment = 0;
    ActiveTime active;                   ///< packets; no count: cleared by its lcore
    std::uint64_t oversized_frames = 0;  ///< longer than the link allows, or cut to the port's longest
    /// Holds the most bytes of UDP payload that such a frame had on the wire. No count.
    std::uint32_t longest_payload = 0;
    std::uint64_t gather_full = 0;  ///< polls that left the queue alone: no batch was free for packets
    std::uint64_t hosts_full = 0;  ///< such frames (IGMP, ARP, MLD, NDP) that came faster than our hosts read
    ReassemblyCounts reassembly;
    /// Holds the fewest mbufs left in the queue's pool at a look, or kNeverLooked. No count: cleared by its
    /// lcore.
    std::uint32_t fewest_free_mbufs = kNeverLooked;
    static constexpr std::uint32_t kNeverLooked = UINT32_MAX;

    std::uint64_t& operator[](PortOutcome o) { return packets[static_cast<std::size_t>(o)]; }
    std::uint64_t operator[](PortOutcome o) const { return packets[static_cast<std::size_t>(o)]; }
};

/// Counts how a worker lcore uses its time. A loop is one round over all of its queues.
struct alignas(kCacheLine) LcoreCounters {
    std::uint64_t loops = 0;
    std::uint64_t busy_loops = 0;   ///< with work to do
    std::uint64_t busy_cycles = 0;  ///< of those
    std::uint64_t idle_cycles = 0;  ///< of the others, rests included
    std::uint64_t sleeps = 0;       ///< rests in which the kernel had the CPU: sleeps, waits for an event
    std::uint64_t cycles = 0;       ///< since the first loop; busy + idle
    std::uint64_t interrupted_cycles = 0;  ///< of them, loops that took longer than work and rest explain
    /// Holds the longest loop, in cycles, without its intended rest. No count: cleared by its lcore.
    std::uint64_t longest_loop = 0;

    /// Counts a loop that took so many cycles, of which it was to rest for `rest` at most. If it took
    /// `away_after` more, the lcore has not had its CPU.
    void loop(std::uint64_t took, bool busy, std::uint64_t rest, std::uint64_t interrupted_after) noexcept {
        loops++;
        cycles += took;
        busy_loops += busy;
        (busy ? busy_cycles : idle_cycles) += took;
        const std::uint64_t worked = took > rest ? took - rest : 0;
        longest_loop = std::max(longest_loop, worked);
        if (worked >= interrupted_after) [[unlikely]]
            interrupted_cycles += worked;
    }
};

/// Counts for one sender ([[send]]) on its lcore.
struct alignas(kCacheLine) SendCounters {
    std::uint64_t heaps = 0;          ///< with data, completed: all packets given to the driver
    std::uint64_t control_heaps = 0;  ///< heaps without data (stop items), likewise
    std::uint64_t aborted = 0;        ///< given back unsent or partly sent
    std::uint64_t timed_out = 0;      ///< likewise, because they could not be sent in time
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< UDP payload bytes
    std::uint64_t frame_bytes = 0;
    std::uint64_t zero_copy_packets = 0;
    std::uint64_t copied_packets = 0;  ///< zero_copy_packets + copied_packets = packets
    std::uint64_t dropped = 0;         ///< built, then freed unsent when the send was abandoned
    // Informative.
    ActiveTime active;                ///< packets given to the driver
    std::uint64_t scheduled = 0;      ///< bursts that carried the time at which the port was to send them
    std::uint64_t dummy_packets = 0;  ///< built and freed to warm caches; they never left
    std::uint64_t unregistered_packets = 0;  ///< copied because their memory lies outside every region
    std::uint64_t tx_full = 0;               ///< bursts the driver did not take whole
    std::uint64_t stalls = 0;                ///< polls without a free mbuf or reference count
    /// Counts the times that the port took nothing, and gave nothing back, for a second of attempts.
    std::uint64_t outages = 0;
    std::uint64_t outage_ticks = 0;  ///< their length, of the lcore's clock
    // Impairments of its packets (port/impaired_queue.hpp).
    std::uint64_t impaired_lost = 0;
    std::uint64_t impaired_duplicated = 0;
    std::uint64_t impaired_corrupted = 0;
    std::uint64_t impaired_reordered = 0;
    std::uint64_t impaired_delayed = 0;
    std::uint64_t impaired_sent = 0;     ///< given to the driver
    std::uint64_t impaired_dropped = 0;  ///< held when the port stopped

    void add(const SendCounters& other) noexcept;
};

inline constexpr std::array kSendCounts{&SendCounters::heaps,
                                        &SendCounters::control_heaps,
                                        &SendCounters::aborted,
                                        &SendCounters::timed_out,
                                        &SendCounters::packets,
                                        &SendCounters::bytes,
                                        &SendCounters::frame_bytes,
                                        &SendCounters::zero_copy_packets,
                                        &SendCounters::copied_packets,
                                        &SendCounters::dropped,
                                        &SendCounters::scheduled,
                                        &SendCounters::dummy_packets,
                                        &SendCounters::unregistered_packets,
                                        &SendCounters::tx_full,
                                        &SendCounters::stalls,
                                        &SendCounters::outages,
                                        &SendCounters::outage_ticks,
                                        &SendCounters::impaired_lost,
                                        &SendCounters::impaired_duplicated,
                                        &SendCounters::impaired_corrupted,
                                        &SendCounters::impaired_reordered,
                                        &SendCounters::impaired_delayed,
                                        &SendCounters::impaired_sent,
                                        &SendCounters::impaired_dropped};

inline void SendCounters::add(const SendCounters& other) noexcept {
    for (std::uint64_t SendCounters::*const count : kSendCounts)
        this->*count += other.*count;
    active.add(other.active);
}

}  // namespace spead::stats
