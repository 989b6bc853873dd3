// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

/// Snapshots for tests to start from.
namespace spead::test {

/// Every number different, so that none can stand in another's place; the identities do not hold.
inline stats::Snapshot numbered_snapshot() {
    stats::Snapshot snapshot;
    snapshot.duration_s = 2.5;

    stats::StreamSnapshot stream;
    stream.name = "s0";
    stream.endpoints = {"239.1.2.0+3:7148", "239.2.0.1:7148"};
    stream.bytes = 100;
    stream.received = 101;
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        stream.packets[i] = 110 + i;
    stream.heaps_started = 130;
    for (std::size_t i = 0; i < kHeapEnds; i++)
        stream.heaps_ended[i] = 131 + i;
    stream.heaps_live = 140;
    stream.heaps_delivered = 141;
    stream.heaps_dropped_full = 142;
    stream.heaps_queued = 143;
    stream.packets_reordered = 150;
    stream.heaps_interleaved_evictions = 151;
    stream.stop_items = 152;
    stream.held_now = 155;
    stream.hold_refused = 156;
    stream.heaps_verified = 153;
    stream.heaps_wrong = 154;
    snapshot.streams.push_back(stream);

    stats::SendSnapshot send;
    send.name = "d0";
    send.endpoints = {"239.3.0.1:7148"};
    send.counters.heaps = 200;
    send.counters.aborted = 201;
    send.counters.packets = 202;
    send.counters.bytes = 203;
    send.counters.zero_copy_packets = 204;
    send.counters.copied_packets = 205;
    send.counters.frame_bytes = 206;
    send.counters.dropped = 207;
    send.counters.unregistered_packets = 208;
    send.counters.tx_full = 209;
    send.counters.stalls = 210;
    send.counters.scheduled = 212;
    send.counters.dummy_packets = 213;
    send.control_heaps = 211;
    snapshot.sends.push_back(send);

    stats::PortSnapshot port;
    port.name = "p0";
    port.driver = "net_ring";
    for (std::size_t i = 0; i < kPortOutcomes; i++)
        port.rx[i] = 300 + i;
    port.rx_packets = 310;
    port.rx_bytes = 311;
    port.tx_packets = 312;
    port.tx_bytes = 313;
    port.tx_dropped = 314;
    port.nic = {315, 316, 317};
    port.rx_vlan_tagged = 318;
    port.rx_multi_segment = 319;
    port.rx_oversized_frames = 320;
    port.rx_hosts_full = 321;
    port.tx_host_frames = 322;
    port.steering = "rte_flow";
    port.rules = {{"239.1.2.0:7148", {0, 1}, "flow create", 323},
                  {"239.1.2.1:7148", {2}, "flow create", std::nullopt}};
    snapshot.ports.push_back(port);

    stats::LcoreSnapshot lcore;
    lcore.lcore = 1;
    lcore.cpu = 5;
    lcore.poll = "busy";
    lcore.streams = {{"s0", 101}};
    lcore.ports = {{"p0", 310}};
    lcore.sends = {"d0"};
    snapshot.lcores.push_back(lcore);
    return snapshot;
}

}  // namespace spead::test
