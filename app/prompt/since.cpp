// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/since.hpp"

#include <algorithm>
#include <cstdint>

namespace spead::app {

namespace {

void less(std::uint64_t& count, std::uint64_t before) {
    count -= before;
}

template <std::size_t N>
void less(std::array<std::uint64_t, N>& counts, const std::array<std::uint64_t, N>& before) {
    for (std::size_t i = 0; i < N; i++)
        counts[i] -= before[i];
}

void less(stats::StreamSnapshot& s, const stats::StreamSnapshot& before) {
    if (s.received < before.received || s.heaps_started < before.heaps_started)
        return;
    less(s.bytes, before.bytes);
    less(s.packets, before.packets);
    less(s.received, before.received);
    less(s.heaps_started, before.heaps_started);
    less(s.heaps_ended, before.heaps_ended);
    less(s.heaps_delivered, before.heaps_delivered);
    less(s.heaps_dropped_full, before.heaps_dropped_full);
    less(s.packets_reordered, before.packets_reordered);
    less(s.heaps_interleaved_evictions, before.heaps_interleaved_evictions);
    less(s.stop_items, before.stop_items);
    less(s.heaps_verified, before.heaps_verified);
    less(s.heaps_wrong, before.heaps_wrong);
}

void less(stats::SendSnapshot& s, const stats::SendSnapshot& before) {
    if (s.counters.packets < before.counters.packets)
        return;
    stats::SendCounters& c = s.counters;
    const stats::SendCounters& b = before.counters;
    less(c.heaps, b.heaps);
    less(c.control_heaps, b.control_heaps);
    less(c.aborted, b.aborted);
    less(c.packets, b.packets);
    less(c.bytes, b.bytes);
    less(c.frame_bytes, b.frame_bytes);
    less(c.zero_copy_packets, b.zero_copy_packets);
    less(c.copied_packets, b.copied_packets);
    less(c.dropped, b.dropped);
    less(c.unregistered_packets, b.unregistered_packets);
    less(c.tx_full, b.tx_full);
    less(c.stalls, b.stalls);
    less(s.control_heaps, before.control_heaps);
}

void less(stats::PortSnapshot& p, const stats::PortSnapshot& before) {
    if (p.rx_packets < before.rx_packets || p.tx_packets < before.tx_packets ||
        p.nic.missed < before.nic.missed)
        return;
    less(p.rx, before.rx);
    less(p.rx_packets, before.rx_packets);
    less(p.rx_bytes, before.rx_bytes);
    less(p.rx_vlan_tagged, before.rx_vlan_tagged);
    less(p.rx_multi_segment, before.rx_multi_segment);
    less(p.rx_oversized_frames, before.rx_oversized_frames);
    less(p.rx_hosts_full, before.rx_hosts_full);
    less(p.tx_packets, before.tx_packets);
    less(p.tx_bytes, before.tx_bytes);
    less(p.tx_dropped, before.tx_dropped);
    less(p.tx_host_frames, before.tx_host_frames);
    less(p.nic.missed, before.nic.missed);
    less(p.nic.no_mbuf, before.nic.no_mbuf);
    less(p.nic.errors, before.nic.errors);
}

void less(stats::LcoreSnapshot::Share& share, const stats::LcoreSnapshot::Share& before) {
    if (share.received >= before.received)
        less(share.received, before.received);
}

/// Removed since: what it had counted stands under `removed` now.
bool is_gone(const std::vector<stats::StreamSnapshot>& streams, const std::string& name) {
    return std::none_of(streams.begin(), streams.end(),
                        [&](const stats::StreamSnapshot& s) { return s.name == name; });
}

template <typename T>
void less_by_name(std::vector<T>& list, const std::vector<T>& before) {
    for (T& one : list) {
        const auto same =
            std::find_if(before.begin(), before.end(), [&](const T& b) { return b.name == one.name; });
        if (same != before.end())
            less(one, *same);
    }
}

}  // namespace

stats::Snapshot since(stats::Snapshot now, const stats::Snapshot& before) {
    now.duration_s = std::max(now.duration_s - before.duration_s, 0.0);
    less_by_name(now.streams, before.streams);
    less(now.removed, before.removed);
    for (const stats::StreamSnapshot& old : before.streams)
        if (is_gone(now.streams, old.name))
            less(now.removed, old);
    less_by_name(now.sends, before.sends);
    less_by_name(now.ports, before.ports);
    for (stats::LcoreSnapshot& lcore : now.lcores)
        for (const stats::LcoreSnapshot& old : before.lcores)
            if (old.lcore == lcore.lcore) {
                less_by_name(lcore.streams, old.streams);
                less(lcore.removed, old.removed);
                for (const stats::LcoreSnapshot::Share& share : old.streams)
                    if (is_gone(now.streams, share.name))
                        less(lcore.removed, share.received);
                less_by_name(lcore.ports, old.ports);
            }
    return now;
}

}  // namespace spead::app
