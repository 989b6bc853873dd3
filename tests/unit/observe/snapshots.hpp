// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

/// Provides snapshots from which tests start.
namespace spead::test {

/// Returns a snapshot in which every number is different, so that none can stand in another's place. The
/// identities do not hold.
inline stats::Snapshot numbered_snapshot() {
    stats::Snapshot snapshot;
    snapshot.duration_s = 2.5;
    snapshot.cleared_s = 0.5;
    snapshot.ticks_per_second = 1000;

    stats::StreamSnapshot stream;
    stream.name = "s0";
    stream.endpoints = {"239.1.2.0+3:7148", "239.2.0.1:7148"};
    stream.state = "received";
    stream.bytes = 100;
    stream.received = 101;
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        stream.packets[i] = 110 + i;
    stream.heaps_started = 130;
    for (std::size_t i = 0; i < kHeapEnds; i++)
        stream.heaps_ended[i] = 131 + i;
    stream.heaps_live = 140;
    stream.heaps_delivered = 141;
    stream.heaps_unwritten = 144;
    stream.heaps_dropped_full = 142;
    stream.heaps_device_error = 148;
    stream.heaps_queued = 143;
    stream.packets_reordered = 150;
    stream.missing_packets = 163;
    stream.missing_bytes = 164;
    stream.heaps_interleaved_evictions = 151;
    stream.stop_items = 152;
    stream.packets_at_limit = 149;
    stream.heaps_ghosts = 145;
    stream.heaps_dropped_ghosts = 146;
    stream.ghosts_source = 0x0A000009;
    stream.ghosts_of_source = 147;
    stream.held_now = 180;
    stream.hold_refused = 181;
    stream.rotating_bytes = 186;
    stream.streaming_now = 187;
    stream.lent_now = 184;
    stream.lend_full = 185;
    stream.longest_header = 188;
    stream.heaps_verified = 153;
    stream.heaps_wrong = 154;
    stream.heaps_handed_over = 155;
    stream.heaps_dropped_oldest = 156;
    stream.heaps_waiting = 157;
    stream.control_bytes = 158;
    stream.carried = {159, 160, 161};
    stream.by_endpoint = {{"239.1.2.0:7148", 162, 163}};
    stream.latency = {3, 1.0, 2.0, 4.0, {{1.5, 2}, {4.5, 1}}};
    stream.queue_capacity = 164;
    stream.queue_most = 165;
    stream.pool_bytes = 166;
    stream.pool_most = 167;
    stream.health = "losing";
    for (std::size_t i = 0; i < stats::kStreamEvents; i++)
        stream.events[i] = 170 + i;
    stream.last_event = {stats::StreamEvent::losing, 1.5, "it loses"};
    stream.sink_failure = "no space";
    stream.queue_heaps = 182;
    stream.expected_rate = 183;
    snapshot.streams.push_back(stream);

    stats::SendSnapshot send;
    send.name = "d0";
    send.endpoints = {"239.3.0.1:7148"};
    send.counters.heaps = 200;
    send.counters.aborted = 201;
    send.counters.timed_out = 212;
    send.counters.packets = 202;
    send.counters.bytes = 203;
    send.counters.zero_copy_packets = 204;
    send.counters.copied_packets = 205;
    send.counters.frame_bytes = 206;
    send.counters.dropped = 207;
    send.counters.unregistered_packets = 208;
    send.counters.tx_full = 209;
    send.counters.outages = 214;
    send.counters.outage_ticks = 215;
    send.port = "p0";
    send.health = "stuck";
    send.suspects = "look at the cat";
    send.events = {216, 217};
    send.last_event = {stats::StreamEvent::stuck, 2.5, "it is stuck"};
    send.counters.stalls = 210;
    send.state = "done";
    send.counters.scheduled = 212;
    send.counters.dummy_packets = 213;
    send.control_heaps = 211;
    send.left_out = 215;
    snapshot.sends.push_back(send);

    stats::PortSnapshot port;
    port.name = "p0";
    port.driver = "net_ring";
    port.state = "running";
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
    port.rx_gather_full = 348;
    port.reassembly = {349, 350, 351, 352, 353, 354};
    port.reassembly_places = 355;
    port.tx_host_frames = 322;
    port.rx_bursts = 330;
    port.rx_full_bursts = 331;
    for (std::size_t i = 0; i < stats::kBurstBins; i++)
        port.rx_burst_sizes[i] = 332 + i;
    port.rx_descriptors = 339;
    port.buffers = {340, 341};
    port.talkers = {{"10.0.0.1", "s0", 342, 343}, {"10.0.0.2", "", 344, 345}};
    port.talkers_others = 346;
    port.talkers_unattributed = 347;
    port.steering = "rte_flow";
    port.rules = {{"239.1.2.0:7148", {0, 1}, "flow create", 323},
                  {"239.1.2.1:7148", {2}, "flow create", std::nullopt}};
    snapshot.ports.push_back(port);

    stats::LcoreSnapshot lcore;
    lcore.lcore = 1;
    lcore.cpu = 5;
    lcore.removed = 340;
    lcore.poll = "busy";
    lcore.streams = {{"s0", 101}};
    lcore.ports = {{"p0", 310}};
    lcore.sends = {"d0"};
    lcore.bursts = 400;
    lcore.full_bursts = 401;
    for (std::size_t i = 0; i < stats::kBurstBins; i++)
        lcore.burst_sizes[i] = 402 + i;
    lcore.counters.loops = 409;
    lcore.counters.busy_loops = 410;
    lcore.counters.busy_cycles = 1500;
    lcore.counters.idle_cycles = 2500;
    lcore.counters.longest_loop = 500;
    lcore.counters.sleeps = 414;
    snapshot.lcores.push_back(lcore);
    return snapshot;
}

}  // namespace spead::test
