// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

/// Makes snapshots for the diagnosis: a clean run, and ways to spoil it.
namespace spead::stats::test {

/// Returns a run in which all went well: one stream, one port, one lcore that was busy for a tenth of its
/// time.
inline Snapshot clean() {
    Snapshot s;
    s.duration_s = 10;
    s.ticks_per_second = 1e9;
    s.detailed = true;
    StreamSnapshot& stream = s.streams.emplace_back();
    stream.name = "s0";
    stream.port = "p0";
    stream.state = "received";
    stream.received = stream.packets[0] = 1000;
    stream.heaps_started = stream.heaps_ended[0] = stream.heaps_delivered = 100;
    stream.queue_capacity = 256;
    stream.queue_most = 3;
    PortSnapshot& port = s.ports.emplace_back();
    port.name = "p0";
    port.rx_packets = port.rx[0] = 1000;
    port.rx_bursts = 500;
    port.rx_descriptors = 2048;
    port.talkers = {{"10.0.0.1", "s0", 1000, 0}};
    LcoreSnapshot& lcore = s.lcores.emplace_back();
    lcore.ports = {{"p0", 1000}};
    lcore.counters.cycles = 10'000'000'000;
    lcore.counters.busy_cycles = 1'000'000'000;
    lcore.counters.longest_loop = 100'000;
    SendSnapshot& send = s.sends.emplace_back();
    send.name = "d0";
    return s;
}

inline void set(Snapshot& s, PacketOutcome o) {
    s.streams[0].packets[static_cast<std::size_t>(o)] = 77;
}
inline void set(Snapshot& s, PortOutcome o) {
    s.ports[0].rx[static_cast<std::size_t>(o)] = 77;
    if (o == PortOutcome::fragment)
        s.ports[0].reassembly.wanted = 77;
}

/// Lets the stream have chunks, ten of which were taken in 10 us; each lasts 1 us, as long as the sink takes.
inline void with_chunks(Snapshot& s) {
    StreamSnapshot& stream = s.streams[0];
    stream.heaps_started = stream.heaps_ended[0] = stream.heaps_delivered = 0;
    ChunkCounts& c = stream.chunks;
    c.buffers = 8;
    c.opened = c.handed_over = c.taken = c.delivered = c.complete = 10;
    c.heaps_expected = c.heaps_present = 1000;
    c.consumed_ns = 5'000;
    c.spanned_ids = 10;
    c.spanned_ns = 10'000;
}

inline void nothing_came(Snapshot& s) {
    s.duration_s = 77.9;
    s.streams[0].received = s.streams[0].packets[0] = 0;
    s.ports[0].rx_packets = s.ports[0].rx[0] = 0;
    s.ports[0].joins_groups = true;
    s.ports[0].talkers.clear();
}

}  // namespace spead::stats::test
