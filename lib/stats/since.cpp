// SPDX-License-Identifier: BSD-3-Clause
#include "stats/since.hpp"

#include <algorithm>
#include <functional>

#include "stats/rates.hpp"
#include "stats/stream_ports.hpp"

namespace spead::stats {

namespace {

template <typename Array>
void take_each(Array& from, const Array& what) {
    for (std::size_t i = 0; i < from.size(); i++)
        from[i] -= what[i];
}

/// Subtracts `before` from `count`, down to 0; returns the deficit.
std::uint64_t take(std::uint64_t& count, std::uint64_t before) {
    const std::uint64_t missing = before > count ? before - count : 0;
    count -= before - missing;
    return missing;
}

void take_stream(StreamSnapshot& s, const StreamSnapshot& base) {
    s.received -= base.received;
    // Packets that were counted as placed before, and as control or inconsistent since, belong to the time
    // before.
    auto& placed = s.packets[static_cast<std::size_t>(PacketOutcome::placed)];
    auto& control = s.packets[static_cast<std::size_t>(PacketOutcome::control)];
    auto& inconsistent = s.packets[static_cast<std::size_t>(PacketOutcome::inconsistent)];
    const std::uint64_t placed_before = base.packets[static_cast<std::size_t>(PacketOutcome::placed)];
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        if (&s.packets[i] != &placed)
            s.packets[i] -= base.packets[i];
    inconsistent -= take(control, take(placed, placed_before));
    if (s.packets[static_cast<std::size_t>(PacketOutcome::header_in_device)] == 0)
        s.longest_header = 0;
    if (s.packets[static_cast<std::size_t>(PacketOutcome::oversize)] == 0)
        s.longest_packet = 0;
    s.control_bytes -= base.control_bytes;
    s.control_bytes -= take(s.bytes, base.bytes);
    s.carried = {base.heaps_live, base.heaps_queued, base.heaps_waiting};
    s.carried.live -= take(s.heaps_started, base.heaps_started);
    take_each(s.heaps_ended, base.heaps_ended);
    s.heaps_delivered -= base.heaps_delivered;
    s.heaps_unwritten -= base.heaps_unwritten;
    s.heaps_dropped_full -= base.heaps_dropped_full;
    s.heaps_device_error -= base.heaps_device_error;
    s.heaps_dropped_oldest -= base.heaps_dropped_oldest;
    s.heaps_handed_over -= base.heaps_handed_over;
    // A stream that reports for a group from now on has the losses of the group's past. The removed ones lack
    // what the stream that reported before had.
    const bool reports_now = s.chunks_counted_with.empty() && !base.chunks_counted_with.empty();
    take(s.missing_bytes, base.missing_bytes + (reports_now ? base.chunks.missing_bytes : 0));
    take(s.missing_packets, base.missing_packets + (reports_now ? base.chunks.missing_packets : 0));
    s.active.take(base.active);
    s.packets_reordered -= base.packets_reordered;
    s.packets_at_limit -= base.packets_at_limit;
    s.heaps_ghosts -= base.heaps_ghosts;
    s.heaps_dropped_ghosts -= base.heaps_dropped_ghosts;
    s.heaps_interleaved_evictions -= base.heaps_interleaved_evictions;
    s.stop_items -= base.stop_items;
    s.hold_refused -= base.hold_refused;
    s.lend_full -= base.lend_full;
    s.heaps_verified -= base.heaps_verified;
    s.heaps_wrong -= base.heaps_wrong;
    s.chunks.take(base.chunks);
    for (std::size_t path = 0; path < kMaxPaths; path++)
        s.paths[path].take(base.paths[path]);
    s.cut_sources.take(base.cut_sources);
    s.late_sources.take(base.late_sources);
    s.future_sources.take(base.future_sources);
    for (AxisPresence& axis : s.axes)
        for (const AxisPresence& before : base.axes)
            axis.take(before);
    take_each(s.events, base.events);
    take(s.cut_at_start.heaps, base.cut_at_start.heaps);
    take(s.cut_at_start.by_change, base.cut_at_start.by_change);
    take(s.cut_at_start.in_chunks, base.cut_at_start.in_chunks);
    take(s.cut_at_start.by_join, base.cut_at_start.by_join);
    take(s.cut_at_start.packets, base.cut_at_start.packets);
    take(s.cut_at_start.packets_by_join, base.cut_at_start.packets_by_join);
    take(s.queue_near.times, base.queue_near.times);
    take(s.pool_near.times, base.pool_near.times);
    take(s.dropped_while.queue_full, base.dropped_while.queue_full);
    take(s.dropped_while.memory_held, base.dropped_while.memory_held);
    s.dropped_while.full_s = std::max(0.0, s.dropped_while.full_s - base.dropped_while.full_s);
    s.dropped_while.room_s = std::max(0.0, s.dropped_while.room_s - base.dropped_while.room_s);
    take(s.no_memory_while.consumer_held, base.no_memory_while.consumer_held);
    take(s.no_memory_while.pool_full, base.no_memory_while.pool_full);
    for (SinkLoss& loss : s.sink_losses)
        for (const SinkLoss& before : base.sink_losses)
            if (before.lack == loss.lack)
                take(loss.count, before.count);
    std::erase_if(s.sink_losses, [](const SinkLoss& loss) { return loss.count == 0; });
    for (EndpointSnapshot& e : s.by_endpoint)
        if (const EndpointSnapshot* const before = find(base.by_endpoint, e.name)) {
            take(e.packets, before->packets);
            take(e.bytes, before->bytes);
            e.not_new = before->packets != 0;
        }
}

void take_send(SendSnapshot& s, const SendSnapshot& base) {
    for (std::uint64_t SendCounters::*const count : kSendCounts)
        s.counters.*count -= base.counters.*count;
    s.counters.active.take(base.counters.active);
    s.control_heaps -= base.control_heaps;
    s.left_out -= base.left_out;
    take_each(s.events, base.events);
}

/// Subtracts destinations that came before. The most packets stay first.
void take_strays(std::vector<PassedSnapshot>& strays, const std::vector<PassedSnapshot>& base) {
    for (PassedSnapshot& s : strays)
        for (const PassedSnapshot& before : base)
            if (before.endpoint == s.endpoint)
                take(s.packets, before.packets);
    std::erase_if(strays, [](const PassedSnapshot& s) { return s.packets == 0; });
    std::ranges::stable_sort(strays, std::ranges::greater{}, &PassedSnapshot::packets);
}

void take_port(PortSnapshot& p, const PortSnapshot& base) {
    take_each(p.rx, base.rx);
    p.rx_active.take(base.rx_active);
    p.tx_active.take(base.tx_active);
    for (std::uint64_t PortSnapshot::*count :
         {&PortSnapshot::rx_packets, &PortSnapshot::rx_bytes, &PortSnapshot::rx_vlan_tagged,
          &PortSnapshot::rx_multi_segment, &PortSnapshot::rx_oversized_frames, &PortSnapshot::rx_hosts_full,
          &PortSnapshot::rx_gather_full, &PortSnapshot::tx_packets, &PortSnapshot::tx_bytes,
          &PortSnapshot::tx_dropped, &PortSnapshot::tx_host_frames, &PortSnapshot::rx_bursts,
          &PortSnapshot::rx_full_bursts})
        p.*count -= base.*count;
    p.reassembly.take(base.reassembly);
    take_strays(p.strays, base.strays);
    take_each(p.rx_burst_sizes, base.rx_burst_sizes);
    // A port that was opened anew counts from 0.
    take(p.nic.missed, base.nic.missed);
    take(p.nic.no_mbuf, base.nic.no_mbuf);
    take(p.nic.errors, base.nic.errors);
    take(p.nic.send_errors, base.nic.send_errors);
    take(p.buffers_near.times, base.buffers_near.times);
    take(p.missed_while.busy, base.missed_while.busy);
    take(p.missed_while.interrupted, base.missed_while.interrupted);
    take(p.missed_while.engine_behind, base.missed_while.engine_behind);
    take(p.missed_while.idle, base.missed_while.idle);
    take(p.missed_while.at_start, base.missed_while.at_start);
    take(p.missed_at_start, base.missed_at_start);
}

void take_received(std::vector<LcoreSnapshot::Received>& shares,
                   const std::vector<LcoreSnapshot::Received>& base) {
    for (LcoreSnapshot::Received& s : shares)
        if (const LcoreSnapshot::Received* const before = find_same(base, s))
            s.received -= before->received;
}

void take_warnings(LcoreSnapshot& l, const LcoreSnapshot& base) {
    take(l.silences, base.silences);
    take(l.held_up.times, base.held_up.times);
}

void take_lcore(LcoreSnapshot& l, const LcoreSnapshot& base) {
    take_received(l.streams, base.streams);
    l.removed -= base.removed;
    for (const LcoreSnapshot::Received& s : base.streams)
        if (find_same(l.streams, s) == nullptr)
            l.removed -= s.received;
    take_received(l.ports, base.ports);
    take_warnings(l, base);
    l.bursts -= base.bursts;
    l.full_bursts -= base.full_bursts;
    take_each(l.burst_sizes, base.burst_sizes);
    for (std::uint64_t LcoreCounters::*count :
         {&LcoreCounters::loops, &LcoreCounters::busy_loops, &LcoreCounters::busy_cycles,
          &LcoreCounters::idle_cycles, &LcoreCounters::sleeps, &LcoreCounters::cycles,
          &LcoreCounters::interrupted_cycles})
        l.counters.*count -= base.counters.*count;
}

/// Removes findings of the base, which have ended. If the same was found several times in the run, the base
/// has the earlier ones.
void take_findings(std::vector<Finding>& findings, const std::vector<Finding>& base) {
    for (const Finding& before : base) {
        std::uint64_t left = before.count;
        for (const bool over : {true, false})
            for (Finding& f : findings)
                if ((f.until_s > 0) == over && f.cause == before.cause && f.stage == before.stage &&
                    f.where == before.where)
                    left = take(f.count, left);
    }
    std::erase_if(findings, [](const Finding& f) { return f.count == 0; });
}

void take_engines(std::vector<EngineSnapshot>& engines, const std::vector<EngineSnapshot>& base) {
    for (EngineSnapshot& e : engines)
        if (const EngineSnapshot* const before = find(base, e.name)) {
            // One that goes on counts, too.
            take(e.stalls, before->stalls - (before->stalled_s > 0 ? 1 : 0));
            e.all_stalled_s = std::max(e.stalled_s, e.all_stalled_s - before->all_stalled_s);
        }
}

const LcoreSnapshot* find_lcore(const std::vector<LcoreSnapshot>& all, unsigned lcore) {
    const auto found = std::ranges::find(all, lcore, &LcoreSnapshot::lcore);
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

Snapshot since(Snapshot now, const Snapshot& base) {
    now.cleared_s = base.duration_s;
    now.duration_s -= base.duration_s;
    for (StreamSnapshot& s : now.streams) {
        s.changed_s = std::max(0.0, s.changed_s - base.duration_s);
        if (const StreamSnapshot* const before = find_same(base.streams, s))
            take_stream(s, *before);
    }
    // Removed streams are summed from now on; their counts in the base are excluded.
    StreamSnapshot removed = base.removed;
    for (const StreamSnapshot& s : base.streams)
        if (find_same(now.streams, s) == nullptr)
            removed.add(s);
    take_stream(now.removed, removed);
    for (SendSnapshot& s : now.sends)
        if (const SendSnapshot* const before = find_same(base.sends, s))
            take_send(s, *before);
    SendSnapshot removed_sends = base.removed_sends;
    for (const SendSnapshot& s : base.sends)
        if (find_same(now.sends, s) == nullptr)
            removed_sends.add(s);
    take_send(now.removed_sends, removed_sends);
    for (PortSnapshot& p : now.ports)
        if (const PortSnapshot* const before = find(base.ports, p.name))
            take_port(p, *before);
    for (LcoreSnapshot& l : now.lcores)
        if (const LcoreSnapshot* const before = find_lcore(base.lcores, l.lcore))
            take_lcore(l, *before);
    take_engines(now.engines, base.engines);
    if (now.findings)
        take_findings(*now.findings, base.findings.value_or(std::vector<Finding>{}));
    return now;
}

namespace {

/// Returns what the ports have received since a moment.
std::vector<PortPackets> since_then(std::vector<PortPackets> ports, const std::vector<PortPackets>& then) {
    for (PortPackets& p : ports)
        if (const PortPackets* const before = find(then, p.name)) {
            for (std::size_t i = 0; i < p.rx.size(); i++)
                take(p.rx[i], before->rx[i]);
            take(p.rx_packets, before->rx_packets);
            take(p.wanted_fragments, before->wanted_fragments);
        }
    return ports;
}

}  // namespace

Snapshot since_changes(Snapshot now, const Snapshot& base) {
    const std::vector<PortPackets> ports = packets_of_ports(now);
    for (StreamSnapshot& s : now.streams) {
        const StreamSnapshot* const before = find_same(base.streams, s);
        s.port_packets = before == nullptr ? ports : since_then(ports, before->port_packets);
    }
    for (StreamSnapshot& s : now.streams)
        if (const StreamSnapshot* const before = find_same(base.streams, s)) {
            take_stream(s, *before);
            s.changed_s = before->changed_s;
        }
    for (SendSnapshot& s : now.sends)
        if (const SendSnapshot* const before = find_same(base.sends, s))
            take_send(s, *before);
    for (PortSnapshot& p : now.ports)
        if (const PortSnapshot* const before = find(base.ports, p.name))
            take_port(p, *before);
    for (LcoreSnapshot& l : now.lcores)
        if (const LcoreSnapshot* const before = find_lcore(base.lcores, l.lcore))
            take_warnings(l, *before);
    take_engines(now.engines, base.engines);
    return now;
}

}  // namespace spead::stats
