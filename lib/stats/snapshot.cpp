// SPDX-License-Identifier: BSD-3-Clause
#include "stats/snapshot.hpp"

#include <map>
#include <numeric>

#include <fmt/format.h>

#include "stats/phrases.hpp"

namespace spead::stats {

namespace {

template <typename Array>
std::uint64_t sum(const Array& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

template <typename Array>
void add_each(Array& to, const Array& from) {
    for (std::size_t i = 0; i < to.size(); i++)
        to[i] += from[i];
}

/// Adds ghosts; keeps the source that made most of them, on any lcore.
template <typename From>
void add_ghosts(StreamSnapshot& to, const From& from) {
    to.heaps_ghosts += from.heaps_ghosts;
    to.heaps_dropped_ghosts += from.heaps_dropped_ghosts;
    if (from.ghosts_source == to.ghosts_source) {
        to.ghosts_of_source += from.ghosts_of_source;
    } else if (from.ghosts_of_source > to.ghosts_of_source) {
        to.ghosts_source = from.ghosts_source;
        to.ghosts_of_source = from.ghosts_of_source;
    }
}

/// Adds packets that chunks had no place for.
template <typename From>
void add_strange(StreamSnapshot& to, const From& from) {
    to.late_sources.add(from.late_sources);
    to.future_sources.add(from.future_sources);
    if (from.odd_packet != 0) {
        to.odd_packet = from.odd_packet;
        to.usual_packet = from.usual_packet;
    }
}

template <typename Expect>
void expect_sums_of_lcores(const Snapshot& snapshot, const Expect& expect) {
    std::map<std::string, std::uint64_t> streams;
    std::map<std::string, std::uint64_t> ports;
    std::uint64_t removed = 0;
    for (const LcoreSnapshot& l : snapshot.lcores) {
        removed += l.removed;
        for (const LcoreSnapshot::Received& s : l.streams)
            streams[s.name] += s.received;
        for (const LcoreSnapshot::Received& p : l.ports)
            ports[p.name] += p.received;
    }
    for (const StreamSnapshot& s : snapshot.streams)
        expect(s.name + ": received = sum of lcores", s.received, streams[s.name]);
    expect("removed streams: received = sum of lcores", snapshot.removed.received, removed);
    for (const PortSnapshot& p : snapshot.ports)
        expect(p.name + ": rx packets = sum of lcores", p.rx_packets, ports[p.name]);
}

std::uint64_t sum_of_talkers(const PortSnapshot& p) {
    std::uint64_t all = p.talkers_others + p.talkers_unattributed;
    for (const TalkerSnapshot& t : p.talkers)
        all += t.packets;
    return all;
}

/// Checks the way of chunks: exactly when nothing moves, and otherwise that no step has more than the one
/// before it.
template <typename Expect>
void expect_chunks(const StreamSnapshot& s, const Expect& expect) {
    const ChunkCounts& c = s.chunks;
    expect(s.name + ": chunks handed over <= opened + carried",
           std::min(c.handed_over, c.opened + c.carried_open), c.handed_over);
    expect(s.name + ": chunks taken <= handed over + carried",
           std::min(c.taken, c.handed_over + c.carried_waiting), c.taken);
    expect(s.name + ": heaps present <= expected", std::min(c.heaps_present, c.heaps_expected),
           c.heaps_present);
    // A chunk's heaps are counted one by one, and cut ones last.
    const std::uint64_t lost = c.heaps_missing + c.heaps_cut + c.heaps_device_error;
    expect(s.name + ": heaps present + missing + cut + device_error <= expected",
           std::min(c.heaps_present + lost, c.heaps_expected), c.heaps_present + lost);
    if (!c.at_rest)
        return;
    expect(s.name + ": heaps expected = present + missing + cut + device_error", c.heaps_expected,
           c.heaps_present + lost);
    expect(s.name + ": chunks opened = handed over + open", c.opened, c.handed_over + c.open);
    expect(s.name + ": chunks handed over = taken + waiting", c.handed_over, c.taken + c.waiting);
    expect(s.name + ": chunks taken = delivered + unwritten + device_error", c.taken,
           c.delivered + c.unwritten + c.device_error);
    expect(s.name + ": chunks = free + open + waiting + held", c.buffers,
           c.free + c.open + c.waiting + c.held);
    if (c.open == 0 && s.heaps_started == 0)
        expect(s.name + ": placed = packets in chunks",
               s.packets[static_cast<std::size_t>(PacketOutcome::placed)], c.packets);
}

template <typename Expect>
void expect_details(const StreamSnapshot& s, const Expect& expect) {
    EndpointSnapshot all;
    for (const EndpointSnapshot& e : s.by_endpoint) {
        all.packets += e.packets;
        all.bytes += e.bytes;
    }
    expect(s.name + ": received = sum over endpoints", s.received, all.packets);
    expect(s.name + ": bytes = sum over endpoints", s.bytes + s.control_bytes, all.bytes);
    std::uint64_t timed = 0;
    for (const Distribution::Bucket& b : s.latency.buckets)
        timed += b.count;
    expect(s.name + ": handed over = heaps whose latency is known", s.heaps_handed_over, s.latency.count);
    expect(s.name + ": latencies = sum of their buckets", s.latency.count, timed);
}

/// Returns the sum of the lcores' bursts, after each lcore's own identities.
template <typename Expect>
std::uint64_t bursts_of_lcores(const Snapshot& snapshot, const Expect& expect) {
    std::uint64_t all = 0;
    for (const LcoreSnapshot& l : snapshot.lcores) {
        const std::string name = fmt::format("lcore {}", l.lcore);
        expect(name + ": bursts = sum of burst sizes", l.bursts, sum(l.burst_sizes));
        expect(name + ": full bursts = bursts of full size", l.full_bursts, l.burst_sizes.back());
        expect(name + ": cycles = busy + idle", l.counters.cycles,
               l.counters.busy_cycles + l.counters.idle_cycles);
        all += l.bursts;
    }
    return all;
}

}  // namespace

void StreamSnapshot::add(const StreamCounters& block, std::uint64_t delivered, std::uint64_t unwritten) {
    bytes += block.bytes;
    add_each(packets, block.packets);
    received += sum(block.packets);
    heaps_started += block.heaps_started;
    add_each(heaps_ended, block.heaps_ended);
    heaps_live += block.heaps_live;
    heaps_delivered += delivered;
    heaps_unwritten += unwritten;
    heaps_dropped_full += block.heaps_dropped_full;
    heaps_device_error += block.heaps_device_error;
    heaps_queued += block.heaps_pushed - delivered - unwritten + block.heaps_waiting;
    add_strange(*this, block);
    missing_bytes += block.missing_bytes;
    missing_packets += block.missing_packets;
    active.add(block.active);
    packets_reordered += block.packets_reordered;
    heaps_interleaved_evictions += block.heaps_interleaved_evictions;
    stop_items += block.stop_items;
    heaps_handed_over += block.heaps_pushed + block.heaps_dropped_oldest;
    heaps_dropped_oldest += block.heaps_dropped_oldest;
    heaps_waiting += block.heaps_waiting;
    control_bytes += block.control_bytes;
    packets_at_limit += block.packets_at_limit;
    add_ghosts(*this, block);
    held_now += block.held_now;
    hold_refused += block.hold_refused;
    rotating_bytes = std::max(rotating_bytes, block.rotating_bytes);
    streaming_now += block.streaming_now;
    lent_now += block.lent_now;
    lend_full += block.lend_full;
    longest_header = std::max(longest_header, block.longest_header);
    longest_packet = std::max(longest_packet, block.longest_packet);
    cut_sources.add(block.cut_sources);
    lcores_direct += block.goes_direct;
    lcores_tracked += block.goes_tracked;
    chunks.callback_calls += block.callback.calls;
    chunks.callback_heaps += block.callback.heaps;
    chunks.callback_cycles += block.callback.cycles;
    chunks.callback_rejected += block.callback.rejected;
    chunks.callback_nonsense += block.callback.nonsense;
    chunks.heaps_late += block.heaps_late;
    for (std::size_t path = 0; path < kMaxPaths; path++)
        paths[path].add(block.paths[path]);
}

void StreamSnapshot::add(const StreamSnapshot& other) {
    bytes += other.bytes;
    add_each(packets, other.packets);
    received += other.received;
    heaps_started += other.heaps_started;
    add_each(heaps_ended, other.heaps_ended);
    heaps_live += other.heaps_live;
    heaps_delivered += other.heaps_delivered;
    heaps_unwritten += other.heaps_unwritten;
    heaps_dropped_full += other.heaps_dropped_full;
    heaps_device_error += other.heaps_device_error;
    heaps_queued += other.heaps_queued;
    missing_bytes += other.missing_bytes;
    missing_packets += other.missing_packets;
    active.add(other.active);
    packets_reordered += other.packets_reordered;
    heaps_interleaved_evictions += other.heaps_interleaved_evictions;
    stop_items += other.stop_items;
    heaps_handed_over += other.heaps_handed_over;
    heaps_dropped_oldest += other.heaps_dropped_oldest;
    heaps_waiting += other.heaps_waiting;
    control_bytes += other.control_bytes;
    packets_at_limit += other.packets_at_limit;
    add_ghosts(*this, other);
    held_now += other.held_now;
    hold_refused += other.hold_refused;
    rotating_bytes = std::max(rotating_bytes, other.rotating_bytes);
    streaming_now += other.streaming_now;
    lent_now += other.lent_now;
    lend_full += other.lend_full;
    longest_header = std::max(longest_header, other.longest_header);
    longest_packet = std::max(longest_packet, other.longest_packet);
    cut_sources.add(other.cut_sources);
    heaps_verified += other.heaps_verified;
    heaps_wrong += other.heaps_wrong;
    chunks.add(other.chunks);
    lcores_direct += other.lcores_direct;
    lcores_tracked += other.lcores_tracked;
    add_strange(*this, other);
    add_each(events, other.events);
    for (std::size_t path = 0; path < kMaxPaths; path++)
        paths[path].add(other.paths[path]);
}

void PortSnapshot::add(const RxCounters& queue) {
    add_each(rx, queue.packets);
    rx_packets += sum(queue.packets);
    rx_bytes += queue.bytes;
    rx_active.add(queue.active);
    rx_vlan_tagged += queue.vlan_tagged;
    rx_multi_segment += queue.multi_segment;
    rx_oversized_frames += queue.oversized_frames;
    rx_longest_payload = std::max(rx_longest_payload, queue.longest_payload);
    rx_gather_full += queue.gather_full;
    rx_hosts_full += queue.hosts_full;
    reassembly.add(queue.reassembly);
    rx_bursts += queue.bursts;
    rx_full_bursts += queue.full_bursts;
    add_each(rx_burst_sizes, queue.burst_sizes);
}

void LcoreSnapshot::add(const RxCounters& queue) {
    bursts += queue.bursts;
    full_bursts += queue.full_bursts;
    add_each(burst_sizes, queue.burst_sizes);
}

std::string LcoreSnapshot::where() const {
    return fmt::format("lcore {} on CPU {}", lcore, cpu);
}

std::string LcoreSnapshot::silence() const {
    if (silent_s <= 0)
        return {};
    return fmt::format("{} has not answered for {:.1f} s{}{}", where(), silent_s,
                       activity.empty() ? "" : ": ", activity);
}

std::string EngineSnapshot::where() const {
    return "engine " + name;
}

std::string EngineSnapshot::stall() const {
    if (stalled_s <= 0)
        return {};
    return fmt::format("the engine `{}` has moved nothing for {:.1f} s{}{}", name, stalled_s,
                       streams.empty() ? "" : "; ", wait_for_it(streams));
}

std::vector<std::string> broken_identities(const Snapshot& snapshot) {
    std::vector<std::string> broken;
    const auto expect = [&](const std::string& what, std::uint64_t left, std::uint64_t right) {
        if (left != right)
            broken.push_back(fmt::format("{}: {} is not {}", what, left, right));
    };

    std::uint64_t handed = 0;
    std::uint64_t received = 0;
    std::uint64_t port_bursts = 0;
    for (const PortSnapshot& p : snapshot.ports) {
        port_bursts += p.rx_bursts;
        expect(p.name + ": bursts = sum of burst sizes", p.rx_bursts, sum(p.rx_burst_sizes));
        expect(p.name + ": full bursts = bursts of full size", p.rx_full_bursts, p.rx_burst_sizes.back());
        if (snapshot.detailed)
            expect(p.name + ": rx packets = sum over senders", p.rx_packets, sum_of_talkers(p));
        handed += p.rx[static_cast<std::size_t>(PortOutcome::stream)];
        expect(p.name + ": rx packets = sum of outcomes", p.rx_packets, sum(p.rx));
    }
    const auto expect_of_stream = [&](const std::string& name, const StreamSnapshot& s) {
        received += s.received;
        const std::uint64_t ended = sum(s.heaps_ended);
        expect(name + ": received = sum of outcomes", s.received, sum(s.packets));
        expect(name + ": started = ended + live", s.heaps_started + s.carried.live, ended + s.heaps_live);
        expect(name + ": ended = delivered + unwritten + dropped_full + device_error + queued",
               ended + s.carried.queued,
               s.heaps_delivered + s.heaps_unwritten + s.heaps_dropped_full + s.heaps_device_error +
                   s.heaps_queued);
        expect(name + ": ended = handed over + waiting + dropped at once", ended + s.carried.waiting,
               s.heaps_handed_over + s.heaps_waiting + s.heaps_dropped_full - s.heaps_dropped_oldest +
                   s.heaps_device_error);
    };
    for (const StreamSnapshot& s : snapshot.streams) {
        expect_of_stream(s.name, s);
        if (s.chunks.any())
            expect_chunks(s, expect);
        if (snapshot.detailed)
            expect_details(s, expect);
    }
    expect_of_stream("removed streams", snapshot.removed);
    if (!snapshot.lcores.empty()) {
        expect_sums_of_lcores(snapshot, expect);
        expect("bursts of ports = bursts of lcores", port_bursts, bursts_of_lcores(snapshot, expect));
    }
    expect("packets handed to streams = received by streams", handed, received);
    for (const SendSnapshot& s : snapshot.sends)
        expect(s.name + ": packets = zero copy + copied", s.counters.packets,
               s.counters.zero_copy_packets + s.counters.copied_packets);
    if (snapshot.replays.empty() &&
        !(snapshot.sends.empty() && snapshot.removed_sends.counters.packets == 0)) {
        std::uint64_t sent = snapshot.removed_sends.counters.packets;
        for (const SendSnapshot& s : snapshot.sends)
            sent += s.counters.packets;
        std::uint64_t by_ports = 0;
        for (const PortSnapshot& p : snapshot.ports)
            by_ports += p.tx_packets;
        expect("packets sent by ports = packets of senders", by_ports, sent);
    }
    for (const CaptureSnapshot& c : snapshot.captures) {
        if (c.taken < c.written + c.unwritten || (c.finished && c.buffered() != 0))
            broken.push_back(
                fmt::format("capture of {}: taken {} is not written {} + unwritten {} + buffered{}", c.stream,
                            c.taken, c.written, c.unwritten, c.finished ? " 0" : ""));
    }
    for (const ReplaySnapshot& r : snapshot.replays)
        expect("replay: records = frames + those not sent", r.records,
               r.frames + r.cut + r.runts + r.too_long + r.not_udp);
    for (const StreamSnapshot& s : snapshot.streams) {
        std::uint64_t taken = 0;
        std::uint64_t dropped = 0;
        for (const CaptureSnapshot& c : snapshot.captures)
            if (c.only && !c.former && c.stream == s.name) {
                taken += c.taken;
                dropped += c.dropped_full;
            }
        expect(s.name + ": captured = taken by its captures",
               s.packets[static_cast<std::size_t>(PacketOutcome::captured)], taken);
        expect(s.name + ": capture_full = dropped by its captures",
               s.packets[static_cast<std::size_t>(PacketOutcome::capture_full)], dropped);
    }
    return broken;
}

}  // namespace spead::stats
