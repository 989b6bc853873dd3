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
    for (const LcoreSnapshot& l : snapshot.lcores) {
        for (const LcoreSnapshot::Share& s : l.streams)
            streams[s.name] += s.received;
        for (const LcoreSnapshot::Share& p : l.ports)
            ports[p.name] += p.received;
    }
    for (const StreamSnapshot& s : snapshot.streams)
        expect(s.name + ": received = sum of lcores", s.received, streams[s.name]);
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
    for (const StreamSnapshot& s : snapshot.streams) {
        received += s.received;
        const std::uint64_t ended = sum(s.heaps_ended);
        expect(s.name + ": received = sum of outcomes", s.received, sum(s.packets));
        expect(s.name + ": started = ended + live", s.heaps_started, ended + s.heaps_live);
        expect(s.name + ": ended = delivered + dropped_full + queued", ended,
               s.heaps_delivered + s.heaps_dropped_full + s.heaps_queued);
    }
    if (!snapshot.lcores.empty())
        expect_sums_of_lcores(snapshot, expect);
    expect("packets handed to streams = received by streams", handed, received);
    for (const SendSnapshot& s : snapshot.sends)
        expect(s.name + ": packets = zero copy + copied", s.counters.packets,
               s.counters.zero_copy_packets + s.counters.copied_packets);
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
            if (c.only && c.stream == s.name) {
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
