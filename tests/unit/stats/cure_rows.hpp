// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/setting_limits.hpp"
#include "tests/unit/stats/known_run.hpp"

/// Lists cures of a run whose settings are known: values, files and commands.
namespace spead::stats::test {

inline const CureRow kCureRows[] = {
    {"ARingOfPsrdadaWithoutRoom",
     [](Snapshot& s) {
         s.streams[0].heaps_unwritten = 77;
         s.streams[0].sink_losses = {{SinkLoss::Lack::room, 77, "its readers have left no room"}};
         s.streams[0].settings.ring = "beef";
         s.streams[0].settings.ring_blocks = 8;
         s.streams[0].settings.ring_block_bytes = 65536;
         s.streams[0].settings.ring_readers = 2;
     },
     Cause::sink_full,
     {"let the readers of the ring keep up: `dada_dbmetric -k beef` shows how full it is",
      "make the ring with twice the blocks (now 8): run `dpdk-spead attach /run/x.sock -- stream stop s0`, "
      "`dada_db -k beef -d`, `dada_db -k beef -b 65536 -n 16 -r 2`, begin the readers anew, and run "
      "`dpdk-spead attach /run/x.sock -- stream start s0`"}},
    {"ASinkThatFailed",
     [](Snapshot& s) {
         s.streams[0].heaps_unwritten = 77;
         s.streams[0].sink_failure = "No space left on device";
         s.streams[0].settings.directory = "/data";
     },
     Cause::sink_failed,
     {"make room: `df -h /data` shows what is left",
      "then run `dpdk-spead attach /run/x.sock -- stream stop s0`, then run `dpdk-spead attach /run/x.sock "
      "-- stream start s0`"}},
    {"APathThatIsSilent",
     [](Snapshot& s) { two_paths(s, 0); },
     Cause::path_silent,
     {"see whether its port has a link: `ip link show eth0`",
      "see what arrives: `timeout 5 tcpdump -ni eth0 -c 20 udp`",
      "see whether the sender of that path sends to 239.1.3.3:7148"}},
    {"APathThatLacksPackets",
     [](Snapshot& s) {
         two_paths(s, 900);
         s.streams[0].settings.path_skew = 0.05;
     },
     Cause::path_loss,
     {"see whether its interface dropped packets: `ip -s link show eth0`", "look for drops on that path",
      "if that path is only slow, run `dpdk-spead attach /run/x.sock -- stream set s0 path_skew 100ms` (now "
      "50ms); to keep it, set `path_skew = \"100ms\"` in [[receive]] of s0 in /etc/x.toml"}},
    {"PacketsWithoutAPlace",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::out_of_range);
         s.streams[0].settings.placement = "heap 8192; time: heap [4]";
     },
     Cause::misplaced,
     {"compare the counts of the axes in `placement`",
      "see what the packets hold: run `dpdk-spead attach /run/x.sock -- capture start s0 /var/tmp/s0.pcap "
      "capture.count 20`, then run `tcpdump -nXr /var/tmp/s0.pcap`",
      "correct the placement: run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.placement "
      "'PLACEMENT'` "
      "(now 'heap 8192; time: heap [4]')"}},
    {"PacketsFromTheFuture",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::future);
         s.streams[0].future_sources.note(0x0A000007);
         s.streams[0].settings.max_jump = 16;
         s.settings.attach = "";
     },
     Cause::future,
     {"look for a wrong clock at 10.0.0.7: `chronyc tracking` shows it there", "if their time is right, wait",
      "or let it follow any packet: set `max_jump = 0` in [receive.chunk] of s0 in /etc/x.toml (now 16), and "
      "restart"}},
    {"ChunksThatTimeOut",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
         s.streams[0].chunks.timed_out = 3;
         s.streams[0].settings.chunk_timeout = 0.25;
     },
     Cause::late,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.timeout 500ms` (now 250ms); to keep it, set "
      "`timeout = \"500ms\"` in [receive.chunk] of s0 in /etc/x.toml, or turn it off"}},
    {"ChunksThatAreNotWaitedFor",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
         s.streams[0].chunks.out_waited = 3;
         s.streams[0].settings.chunk_patience = 10;
     },
     Cause::late,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.patience 20s` (now 10s)",
      "give each lcore a CPU of its own"}},
    {"HeapsThatTimeOut",
     [](Snapshot& s) {
         set(s, PacketOutcome::late);
         s.streams[0].settings.heap_timeout = 1;
     },
     Cause::late,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.max_live 8` (now 4)",
      "run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.timeout 2s` (now 1s)"}},
    {"HeapsThatAreNotSentInTime",
     [](Snapshot& s) {
         s.sends[0].counters.timed_out = 77;
         s.sends[0].port = "p0";
         s.sends[0].settings = {1.25e9, 0.5};
     },
     Cause::send_timeout,
     {"run `dpdk-spead attach /run/x.sock -- send set d0 rate 20Gbps` (now 10Gbps)",
      "set `timeout = \"1s\"` in [[send]] of d0 in /etc/x.toml (now 500ms), and restart",
      "see whether port p0 takes packets: `ip -s link show eth0`", "submit less"}},
    {"FramesThatNobodyCut",
     [](Snapshot& s) { s.ports[0].rx_oversized_frames = 77; },
     Cause::gso_frames,
     {"a sender on this machine must cut its packets itself: `ethtool -K eth0 tx-udp-segmentation off`; if "
      "it sends by another interface, name that one",
      "if packets are so long on the wire: set `max_packet_size = 18400` in [[receive]] of s0 in /etc/x.toml "
      "(now 9200), and restart"}},
    {"PacketsOfAStoppedStream",
     [](Snapshot& s) {
         strays(s, "239.1.2.9:7148", "10.0.0.9");
         s.streams.push_back(s.streams[0]);
         s.streams[1].name = "s1";
         s.streams[1].state = "stopped";
         s.streams[1].endpoints = {"239.1.2.8+3:7148"};
     },
     Cause::unmatched,
     {"s1 is stopped, and packets for 239.1.2.9:7148 come: run `dpdk-spead attach /run/x.sock -- stream "
      "start "
      "s1`",
      "compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148"}},
    {"MoreMemory",
     [](Snapshot& s) { set(s, PacketOutcome::no_memory); },
     Cause::pool_too_small,
     {"set `heaps = \"1GiB\"` in [memory] in /etc/x.toml (now 512MiB), and restart", "do less per heap"}},
    {"NoMoreMemory",
     [](Snapshot& s) {
         set(s, PacketOutcome::no_memory);
         s.settings.memory_free = 100 << 20;
     },
     Cause::pool_too_small,
     {"free memory on this machine, or receive fewer streams here: heaps have 512MiB, and 100 MiB"}},
    {"MoreMemoryByOption",
     [](Snapshot& s) {
         set(s, PacketOutcome::no_memory);
         s.settings.configuration = "";
     },
     Cause::pool_too_small,
     {"restart with `--memory 1GiB` (now 512MiB)"}},
    {"MoreLiveHeaps",
     [](Snapshot& s) { s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77; },
     Cause::max_live_too_small,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.max_live 8` (now 4)", "give each sender"}},
    {"MoreLiveHeapsOfAStreamThatWaits",
     [](Snapshot& s) {
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
         s.streams[0].settings.needs_all = true;
         s.streams[0].settings.max_bytes = 100 << 20;
     },
     Cause::max_live_too_small,
     {"set `heaps = \"1152MiB\"` in [memory] in /etc/x.toml (now 512MiB), and restart",
      "run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.max_live 8` (now 4)"}},
    {"FragmentsByFile",
     [](Snapshot& s) { set(s, PortOutcome::fragment); },
     Cause::fragments,
     {"set `reassemble = true` in [[port]] of p0 in /etc/x.toml, and restart",
      "let the sender's packets fit every MTU on the way: 28 bytes of one are headers, and 48 of IPv6; `ip "
      "link show eth0` shows the one here"}},
    {"FragmentsByOptions",
     [](Snapshot& s) {
         set(s, PortOutcome::fragment);
         s.settings.configuration = "";
         s.streams[0].settings.cpus = {1, 2};
     },
     Cause::fragments,
     {"restart with `--reassemble`; all streams of the port then need one lcore, the same",
      "let the sender's packets fit every MTU on the way"}},
    {"FragmentsByApi",
     [](Snapshot& s) {
         set(s, PortOutcome::fragment);
         s.settings.configuration = "";
         s.settings.by_options = false;
     },
     Cause::fragments,
     {"set `backend` to kernel: the kernel's sockets put fragments together",
      "let the sender's packets fit"}},
    {"FragmentsForTheKernelByFile",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].passed = {{"239.1.2.3:7148", "10.0.0.9", 77}};
     },
     Cause::nothing_came,
     {"`ethtool -l eth0` shows the queues of eth0",
      "set `device = \"net_kernel0,iface=eth0\"` in [[port]] of p0 in /etc/x.toml, and restart: the kernel's "
      "sockets put fragments together",
      "let the sender's packets fit"}},
    {"FragmentsForTheKernelByOptions",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].passed = {{"239.1.2.3:7148", "10.0.0.9", 77}};
         s.settings.configuration = "";
     },
     Cause::nothing_came,
     {"`ethtool -l eth0` shows the queues of eth0",
      "restart with `--port net_kernel0,iface=eth0`: the kernel's sockets put fragments together"}},
    {"FragmentsThatTheKernelPutTogether",
     [](Snapshot& s) {
         s.ports[0].rx_oversized_frames = 77;
         s.ports[0].driver = "net_af_packet";
     },
     Cause::gso_frames,
     {"a sender on this machine must cut its packets itself", "if packets are so long on the wire: set",
      "if they come as IP fragments, set `reassemble = true` in [[port]] of p0 in /etc/x.toml, and restart",
      "if they come as IP fragments, let the sender's packets fit"}},
    {"AnIdleLcore",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
         s.settings.idle_cpus = {3};
     },
     Cause::lcore_too_slow,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 lcores 1,3` (now 1)"}},
    {"AnUnusedCpu",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
     },
     Cause::lcore_too_slow,
     {"set `lcores = [1,3]` in [[receive]] of s0 in /etc/x.toml (now 1), and restart"}},
    {"NoCpuLeft",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
         s.settings.cpus = s.settings.allowed_cpus = {0, 1};
     },
     Cause::lcore_too_slow,
     {"give the process more CPUs: it may use 0,1, and all have work"}},
    {"NoLcoreLeft",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
         s.settings.cpus = {1};
     },
     Cause::lcore_too_slow,
     {"let more CPUs have lcores: `lcores` in [runtime] names 1, and all have work"}},
    {"OtherProgramsOnTheCpu",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.settings.cpus = {1};
         s.lcores[0].counters.longest_loop = 4'000'000;
     },
     Cause::lcore_interrupted,
     {"see which programs run on CPU 1: `ps -eLo psr,pcpu,pid,comm --sort=-pcpu | awk '$1 == 1'`",
      "move them away: `taskset -acp 0,2,3 PID`",
      "give the lcore a CPU of its own for good: boot with `isolcpus=1`"}},
    {"AnotherGroup",
     [](Snapshot& s) { strays(s, "239.1.2.4:7148", "10.0.0.9"); },
     Cause::unmatched,
     {"compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148",
      "if s0 should receive the packets for 239.1.2.4:7148, run `dpdk-spead attach /run/x.sock -- endpoint "
      "add "
      "s0 239.1.2.4:7148` (to keep it, add `\"239.1.2.4:7148\"` to `endpoints` in [[receive]] of s0 in "
      "/etc/x.toml)",
      "see what arrives: `timeout 5 tcpdump -ni eth0 -c 20 udp`; and what this machine has joined: `ip maddr "
      "show dev "
      "eth0`"}},
    {"AnotherSource",
     [](Snapshot& s) {
         strays(s, "239.1.2.3:7148", "10.0.0.9");
         s.streams[0].endpoints = {"239.1.2.3:7148@10.0.0.1"};
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.3:7148@10.0.0.9, run `dpdk-spead attach /run/x.sock -- "
      "endpoint add s0 239.1.2.3:7148@10.0.0.9`"}},
    {"ASourceBesideTheSameGroupOfAnotherStream",
     [](Snapshot& s) {
         strays(s, "239.1.2.7:7148", "10.0.0.9");
         s.streams.push_back(s.streams[0]);
         s.streams[1].name = "s1";
         s.streams[1].endpoints = {"239.1.2.0+15:7148@10.0.0.1"};
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.7:7148@10.0.0.9, run `dpdk-spead attach /run/x.sock -- "
      "endpoint add s0 239.1.2.7:7148@10.0.0.9`"}},
    {"WhatAStreamHasAlreadyIsNotProposed",
     [](Snapshot& s) {
         strays(s, "239.1.2.3:7148", "10.0.0.9");
         s.ports[0].strays.push_back({"239.1.2.5:7148", "10.0.0.9", 7});
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.5:7148, run `dpdk-spead attach /run/x.sock -- "
      "endpoint add s0 239.1.2.5:7148`"}},
    {"NothingToAdd",
     [](Snapshot& s) { strays(s, "239.1.2.3:7148", "10.0.0.9"); },
     Cause::unmatched,
     {"compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148",
      "if it sends elsewhere, run `dpdk-spead attach /run/x.sock -- endpoint add s0 ADDRESS:PORT` (to keep "
      "it, add `\"ADDRESS:PORT\"` to `endpoints`"}},
    {"NothingOfAGroup",
     [](Snapshot& s) {
         nothing_came(s);
         s.settings.configuration = "";
     },
     Cause::nothing_came,
     {"see whether its packets arrive: `timeout 5 tcpdump -ni eth0 -c 5 dst host 239.1.2.3 and udp port "
      "7148` shows them; if none come, ask at the sender whether packets are sent to 239.1.2.3:7148",
      "check whether the sender sends on this network",
      "compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148",
      "if it sends elsewhere, run `dpdk-spead attach /run/x.sock -- endpoint add s0 ADDRESS:PORT`"}},
    {"AnotherGroupOfTwoPaths",
     [](Snapshot& s) {
         strays(s, "239.1.2.4:7148", "10.0.0.9");
         s.streams[0].path_ports = {"p0", "p0"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.4:7148, run `dpdk-spead attach /run/x.sock -- stream set "
      "s0 endpoints 239.1.2.3:7148,239.1.2.4:7148 path_endpoints 239.1.3.3:7148,TWIN`, with its twin of the "
      "other path in place of TWIN; exchange the two if it comes by the second path (to keep it, add both to "
      "`endpoints` and `path_endpoints` in [[receive]] of s0 in /etc/x.toml)"}},
    {"AnotherGroupOfTheSecondPath",
     [](Snapshot& s) {
         strays(s, "239.1.3.4:7148", "10.0.0.9");
         s.streams[0].path_ports = {"p7", "p0"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
         s.settings.configuration = "";
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.3.4:7148, run `dpdk-spead attach /run/x.sock -- stream set "
      "s0 endpoints 239.1.2.3:7148,TWIN path_endpoints 239.1.3.3:7148,239.1.3.4:7148`, with its twin of the "
      "other path in place of TWIN"}},
    {"AnotherGroupOfTwoPathsWithoutAPrompt",
     [](Snapshot& s) {
         strays(s, "239.1.2.4:7148", "10.0.0.9");
         s.streams[0].path_ports = {"p0", "p0"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
         s.settings.attach = "";
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.4:7148, add `\"239.1.2.4:7148\"` to the list of its "
      "path, and its twin to the other one (`endpoints` and `path_endpoints` in [[receive]] of s0 in "
      "/etc/x.toml), and restart"}},
    {"AnotherGroupInTheFile",
     [](Snapshot& s) {
         strays(s, "239.1.2.4:7148", "10.0.0.9");
         s.settings.attach = "";
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.2.4:7148, add `\"239.1.2.4:7148\"` to `endpoints` in "
      "[[receive]] of s0 in /etc/x.toml, and restart"}},
    {"AnotherGroupOfIpv6",
     [](Snapshot& s) { strays(s, "[ff15::1]:7148", "fd00::9"); },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for [ff15::1]:7148, run `dpdk-spead attach /run/x.sock -- endpoint "
      "add "
      "s0 '[ff15::1]:7148'`"}},
    {"AnotherGroupOfIpv6AtItsOwnPrompt",
     [](Snapshot& s) {
         strays(s, "[ff15::1]:7148", "fd00::9");
         s.settings.attach = "";
         s.settings.own_prompt = true;
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for [ff15::1]:7148, enter `endpoint add s0 [ff15::1]:7148` at its "
      "prompt"}},
    {"LostOnTheWay",
     [](Snapshot& s) { s.streams[0].heaps_ended[2] = 77; },
     Cause::network_loss,
     {"see whether the interface dropped packets: in `ip -s link show eth0`, `errors`, `dropped` and "
      "`missed` of RX grow then",
      "at 10.0.0.1, look at the sender's own losses, and send in smaller bursts (`burst_size` in [[send]])",
      "look for drops in the switches"}},
    {"LargerPackets",
     [](Snapshot& s) { set(s, PacketOutcome::oversize); },
     Cause::packets_too_large,
     {"set `max_packet_size = 18400` in [[receive]] of s0 in /etc/x.toml (now 9200), and restart"}},
    {"LargerHeaps",
     [](Snapshot& s) { set(s, PacketOutcome::heap_too_big); },
     Cause::heaps_too_large,
     {"set `max_bytes = \"2MiB\"` in [receive.heaps] of s0 in /etc/x.toml (now 1MiB), and restart"}},
    {"LargerHeapsNeedMemory",
     [](Snapshot& s) {
         set(s, PacketOutcome::heap_too_big);
         s.streams[0].settings.max_bytes = 300 << 20;
     },
     Cause::heaps_too_large,
     {"set `heaps = \"1GiB\"` in [memory] in /etc/x.toml (now 512MiB), and restart",
      "set `max_bytes = \"600MiB\"` in [receive.heaps] of s0 in /etc/x.toml (now 300MiB), and restart"}},
    {"MoreChunks",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_chunk);
         s.streams[0].chunks.short_of = 3;
         s.streams[0].settings.chunks = 8;
     },
     Cause::no_chunk,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.chunks 16` (now 8); to keep it, set `chunks "
      "= 16` in [receive.chunk]"}},
    {"NoMemoryForMoreChunks",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_chunk);
         s.streams[0].chunks.short_of = 3;
         s.streams[0].chunks.buffer_bytes = std::uint64_t{1} << 30;
         s.streams[0].settings.chunks = 8;
     },
     Cause::no_chunk,
     {"free memory on this machine: 8 more chunks need 8 GiB, and 8 GiB is free"}},
    {"AWiderWindowWithoutMemoryForChunks",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
         s.streams[0].chunks.buffer_bytes = std::uint64_t{1} << 30;
         s.streams[0].settings.chunks = 8;
         s.streams[0].settings.window = 7;
     },
     Cause::late,
     {"free memory on this machine: 20 more chunks need 20 GiB, and 8 GiB is free",
      "find out why these senders"}},
    {"AWiderWindowNeedsChunks",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
         s.streams[0].settings.chunks = 4;
         s.streams[0].settings.window = 2;
     },
     Cause::late,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.chunks 8` (now 4)",
      "run `dpdk-spead attach /run/x.sock -- stream set s0 chunk.window 4` (now 2)"}},
    {"AtItsOwnPrompt",
     [](Snapshot& s) {
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
         s.settings.attach = "";
         s.settings.own_prompt = true;
         s.settings.configuration = "";
     },
     Cause::max_live_too_small,
     {"enter `stream set s0 heaps.max_live 8` at its prompt (now 4)"}},
    {"WithoutAPrompt",
     [](Snapshot& s) {
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
         s.settings.attach = "";
         s.settings.configuration = "/etc/my file.toml";
     },
     Cause::max_live_too_small,
     {"set `max_live = 8` in [receive.heaps] of s0 in '/etc/my file.toml' (now 4), and restart"}},
    {"ByOption",
     [](Snapshot& s) {
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
         s.settings.attach = "";
         s.settings.configuration = "";
     },
     Cause::max_live_too_small,
     {"restart with `--max-heaps 8` (now 4)"}},
    {"OfALibrary",
     [](Snapshot& s) {
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
         s.settings.attach = "";
         s.settings.configuration = "";
         s.settings.by_options = false;
     },
     Cause::max_live_too_small,
     {"set `heaps.max_live` to 8 (now 4)"}},
};

}  // namespace spead::stats::test
