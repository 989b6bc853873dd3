// SPDX-License-Identifier: BSD-3-Clause
#include "stats/snapshot.hpp"

#include <map>
#include <numeric>

#include <fmt/format.h>

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

template <typename Expect>
void expect_sums_of_lcores(const Snapshot& snapshot, const Expect& expect) {
    std::map<std::string, std::uint64_t> streams;
    std::map<std::string, std::uint64_t> ports;
    std::uint64_t removed = 0;
    for (const LcoreSnapshot& l : snapshot.lcores) {
        removed += l.removed;
        for (const LcoreSnapshot::Share& s : l.streams)
            streams[s.name] += s.received;
        for (const LcoreSnapshot::Share& p : l.ports)
            ports[p.name] += p.received;
    }
    for (const StreamSnapshot& s : snapshot.streams)
        expect(s.name + ": received = sum of lcores", s.received, streams[s.name]);
    expect("removed streams: received = sum of lcores", snapshot.removed.received, removed);
    for (const PortSnapshot& p : snapshot.ports)
        expect(p.name + ": rx packets = sum of lcores", p.rx_packets, ports[p.name]);
}

}  // namespace

void StreamSnapshot::add(const StreamCounters& block, std::uint64_t taken) {
    bytes += block.bytes;
    add_each(packets, block.packets);
    received += sum(block.packets);
    heaps_started += block.heaps_started;
    add_each(heaps_ended, block.heaps_ended);
    heaps_live += block.heaps_live;
    heaps_delivered += taken;
    heaps_dropped_full += block.heaps_dropped_full;
    heaps_queued += block.heaps_pushed - taken + block.heaps_waiting;
    packets_reordered += block.packets_reordered;
    heaps_interleaved_evictions += block.heaps_interleaved_evictions;
    stop_items += block.stop_items;
}

void StreamSnapshot::add(const StreamSnapshot& other) {
    bytes += other.bytes;
    add_each(packets, other.packets);
    received += other.received;
    heaps_started += other.heaps_started;
    add_each(heaps_ended, other.heaps_ended);
    heaps_live += other.heaps_live;
    heaps_delivered += other.heaps_delivered;
    heaps_dropped_full += other.heaps_dropped_full;
    heaps_queued += other.heaps_queued;
    packets_reordered += other.packets_reordered;
    heaps_interleaved_evictions += other.heaps_interleaved_evictions;
    stop_items += other.stop_items;
    heaps_verified += other.heaps_verified;
    heaps_wrong += other.heaps_wrong;
}

void PortSnapshot::add(const RxCounters& queue) {
    add_each(rx, queue.packets);
    rx_packets += sum(queue.packets);
    rx_bytes += queue.bytes;
    rx_vlan_tagged += queue.vlan_tagged;
    rx_multi_segment += queue.multi_segment;
    rx_oversized_frames += queue.oversized_frames;
    rx_hosts_full += queue.hosts_full;
}

std::vector<std::string> broken_identities(const Snapshot& snapshot) {
    std::vector<std::string> broken;
    const auto expect = [&](const std::string& what, std::uint64_t left, std::uint64_t right) {
        if (left != right)
            broken.push_back(fmt::format("{}: {} is not {}", what, left, right));
    };

    std::uint64_t handed = 0;
    std::uint64_t received = 0;
    for (const PortSnapshot& p : snapshot.ports) {
        handed += p.rx[static_cast<std::size_t>(PortOutcome::stream)];
        expect(p.name + ": rx packets = sum of outcomes", p.rx_packets, sum(p.rx));
    }
    const auto expect_of_stream = [&](const std::string& name, const StreamSnapshot& s) {
        received += s.received;
        const std::uint64_t ended = sum(s.heaps_ended);
        expect(name + ": received = sum of outcomes", s.received, sum(s.packets));
        expect(name + ": started = ended + live", s.heaps_started, ended + s.heaps_live);
        expect(name + ": ended = delivered + dropped_full + queued", ended,
               s.heaps_delivered + s.heaps_dropped_full + s.heaps_queued);
    };
    for (const StreamSnapshot& s : snapshot.streams)
        expect_of_stream(s.name, s);
    expect_of_stream("removed streams", snapshot.removed);
    if (!snapshot.lcores.empty())
        expect_sums_of_lcores(snapshot, expect);
    expect("packets handed to streams = received by streams", handed, received);
    for (const SendSnapshot& s : snapshot.sends)
        expect(s.name + ": packets = zero copy + copied", s.counters.packets,
               s.counters.zero_copy_packets + s.counters.copied_packets);
    return broken;
}

}  // namespace spead::stats
