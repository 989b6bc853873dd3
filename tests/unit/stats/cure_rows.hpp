// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "base/setting_limits.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists cures of a run whose settings are known: values, files and commands.
namespace spead::stats::test {

/// Returns a clean run of a configuration, with a control socket, on four CPUs.
inline Snapshot known() {
    Snapshot s = clean();
    s.by_configuration = true;
    s.settings.attach = "dpdk-spead attach /run/x.sock --";
    s.settings.configuration = "/etc/x.toml";
    s.settings.by_options = true;
    s.settings.heap_memory = std::uint64_t{512} << 20;
    s.settings.memory_free = std::uint64_t{8} << 30;
    s.settings.socket_limit = 212992;
    s.settings.cpus = {0, 1, 2, 3};
    StreamSnapshot& stream = s.streams[0];
    stream.endpoints = {"239.1.2.3:7148"};
    stream.settings.max_live = 4;
    stream.settings.queue_depth = 256;
    stream.settings.substreams = 1;
    stream.settings.max_packet_size = 9200;
    stream.settings.max_bytes = 1 << 20;
    stream.settings.buffer_size = 16 << 20;
    stream.settings.cpus = {1};
    s.lcores[0].cpu = 1;
    s.lcores[0].poll = "adaptive";
    s.lcores[0].streams = {{"s0", 1000, 1}};
    PortSettings& port = s.ports[0].settings;
    port.interface = "eth0";
    port.buffer_size = 16 << 20;
    port.larger_buffer = 32 << 20;
    port.larger_queue = 4096;
    return s;
}

inline void with_sockets(Snapshot& s, std::uint64_t granted) {
    s.ports[0].nic.missed = 77;
    s.ports[0].driver = "net_kernel";
    s.ports[0].settings.socket_buffer = granted;
    s.lcores[0].poll = "busy";
}

/// Lets the stream get nothing, while packets to another endpoint come.
inline void strays(Snapshot& s, const char* endpoint, const char* source) {
    set(s, PortOutcome::unmatched);
    s.streams[0].received = s.streams[0].packets[0] = 0;
    s.ports[0].strays = {{endpoint, source, 77}};
}

struct CureRow {
    const char* name;
    void (*change)(Snapshot&);
    Cause cause;
    std::vector<const char*> cures;  ///< begin so, in this order; the last ones may be left out
};

inline const CureRow kCureRows[] = {
    {"LongerQueue",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 1000;
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
     },
     Cause::consumer_too_slow,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.queue_depth 1024` (now 256); to keep it, "
      "set "
      "`queue_depth = 1024` in [receive.heaps] of s0 in /etc/x.toml",
      "do less per heap"}},
    {"FasterConsumer",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].settings.directory = "/data/a b";
     },
     Cause::consumer_too_slow,
     {"let the sink write faster: `df '/data/a b'` shows its disk, `cat /proc/pressure/io` how long programs "
      "wait "
      "for disks, and `directory` names another one (the consumer took 56 % of the heaps)",
      "run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.queue_depth 1024`"}},
    {"QueueOfALargestDepth",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 1000;
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].settings.queue_depth = kMostQueuedHeaps;
     },
     Cause::consumer_too_slow,
     {"do less per heap"}},
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
      "link "
      "show eth0` shows the one here"}},
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
     {"set `device = \"net_kernel0,iface=eth0\"` in [[port]] of p0 in /etc/x.toml, and restart: the kernel's "
      "sockets put fragments together",
      "let the sender's packets fit"}},
    {"FragmentsForTheKernelByOptions",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].passed = {{"239.1.2.3:7148", "10.0.0.9", 77}};
         s.settings.configuration = "";
     },
     Cause::nothing_came,
     {"restart with `--port net_kernel0,iface=eth0`: the kernel's sockets put fragments together"}},
    {"FragmentsThatTheKernelPutTogether",
     [](Snapshot& s) {
         s.ports[0].rx_oversized_frames = 77;
         s.ports[0].driver = "net_af_packet";
     },
     Cause::gso_frames,
     {"a sender on this machine must cut its packets itself", "packets that are so long on the wire need",
      "if they come as IP fragments, set `reassemble = true` in [[port]] of p0 in /etc/x.toml, and restart",
      "if they come as IP fragments, let the sender's packets fit"}},
    {"LongerRing",
     [](Snapshot& s) { s.ports[0].nic.missed = 77; },
     Cause::receive_ring_short,
     {"set `buffer_size = \"32MiB\"` in [[receive]] of s0 in /etc/x.toml (now 16MiB), and restart: the queue "
      "then "
      "holds 4096 packets instead of 2048",
      "run `dpdk-spead attach /run/x.sock -- stream set s0 poll busy` (now adaptive)", "let the sender"}},
    {"LongestRing",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].settings.larger_buffer = 0;
         s.lcores[0].poll = "busy";
     },
     Cause::receive_ring_short,
     {"let the sender send in smaller bursts"}},
    {"SocketsWithLessThanTheyAskedFor",
     [](Snapshot& s) { with_sockets(s, 212992); },
     Cause::receive_ring_short,
     {"run `sysctl -w net.core.rmem_max=16777216` as root (now 212992)",
      "run `dpdk-spead attach /run/x.sock -- stream stop s0`, then run `dpdk-spead attach /run/x.sock -- "
      "stream "
      "start s0`: the kernel gave its sockets 212992 bytes of the 16777216 in `buffer_size`"}},
    {"SocketsWithAllTheyAskedFor",
     [](Snapshot& s) {
         with_sockets(s, 16 << 20);
         s.settings.socket_limit = 20 << 20;
         s.settings.configuration = "";
     },
     Cause::receive_ring_short,
     {"run `sysctl -w net.core.rmem_max=33554432` as root (now 20971520)",
      "restart with `--buffer-size 32MiB` (now 16MiB)"}},
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
         s.settings.cpus = {0, 1};
     },
     Cause::lcore_too_slow,
     {"give the process more CPUs: it may use 0,1, and all have work"}},
    {"OtherProgramsOnTheCpu",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.longest_loop = 4'000'000;
     },
     Cause::lcore_interrupted,
     {"see which programs run on CPU 1: `ps -eLo psr,pcpu,pid,comm --sort=-pcpu | awk '$1 == 1'`",
      "move them away: `taskset -acp 0,2,3 PID`",
      "give the lcore a CPU of its own for good: boot with "
      "`isolcpus=1`"}},
    {"AnotherGroup",
     [](Snapshot& s) { strays(s, "239.1.2.4:7148", "10.0.0.9"); },
     Cause::unmatched,
     {"run `dpdk-spead attach /run/x.sock -- endpoint add s0 239.1.2.4:7148`, if these packets",
      "compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148",
      "see what arrives: `tcpdump -ni eth0 -c 20 udp`; and what this machine has joined: `ip maddr show dev "
      "eth0`"}},
    {"AnotherSource",
     [](Snapshot& s) {
         strays(s, "239.1.2.3:7148", "10.0.0.9");
         s.streams[0].endpoints = {"239.1.2.3:7148@10.0.0.1"};
     },
     Cause::unmatched,
     {"run `dpdk-spead attach /run/x.sock -- endpoint add s0 239.1.2.3:7148@10.0.0.9`"}},
    {"ASourceBesideTheSameGroupOfAnotherStream",
     [](Snapshot& s) {
         strays(s, "239.1.2.7:7148", "10.0.0.9");
         s.streams.push_back(s.streams[0]);
         s.streams[1].name = "s1";
         s.streams[1].endpoints = {"239.1.2.0+15:7148@10.0.0.1"};
     },
     Cause::unmatched,
     {"run `dpdk-spead attach /run/x.sock -- endpoint add s0 239.1.2.7:7148@10.0.0.9`"}},
    {"WhatAStreamHasAlreadyIsNotProposed",
     [](Snapshot& s) {
         strays(s, "239.1.2.3:7148", "10.0.0.9");
         s.ports[0].strays.push_back({"239.1.2.5:7148", "10.0.0.9", 7});
     },
     Cause::unmatched,
     {"run `dpdk-spead attach /run/x.sock -- endpoint add s0 239.1.2.5:7148`"}},
    {"NothingToAdd",
     [](Snapshot& s) { strays(s, "239.1.2.3:7148", "10.0.0.9"); },
     Cause::unmatched,
     {"compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148"}},
    {"AnotherGroupOfTwoPaths",
     [](Snapshot& s) {
         strays(s, "239.1.2.4:7148", "10.0.0.9");
         s.streams[0].path_ports = {"p0", "p0"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
     },
     Cause::unmatched,
     {"add `\"239.1.2.4:7148\"` to the list of its path, and its twin to the other one (`endpoints` and "
      "`path_endpoints` in [[receive]] of s0 in /etc/x.toml), and restart, if"}},
    {"AnotherGroupInTheFile",
     [](Snapshot& s) {
         strays(s, "239.1.2.4:7148", "10.0.0.9");
         s.settings.attach = "";
     },
     Cause::unmatched,
     {"add `\"239.1.2.4:7148\"` to `endpoints` in [[receive]] of s0 in /etc/x.toml, and restart, if"}},
    {"AnotherGroupOfIpv6",
     [](Snapshot& s) { strays(s, "[ff15::1]:7148", "fd00::9"); },
     Cause::unmatched,
     {"run `dpdk-spead attach /run/x.sock -- endpoint add s0 '[ff15::1]:7148'`"}},
    {"AnotherGroupOfIpv6AtItsOwnPrompt",
     [](Snapshot& s) {
         strays(s, "[ff15::1]:7148", "fd00::9");
         s.settings.attach = "";
         s.settings.own_prompt = true;
     },
     Cause::unmatched,
     {"enter `endpoint add s0 [ff15::1]:7148` at its prompt"}},
    {"LostOnTheWay",
     [](Snapshot& s) { s.streams[0].heaps_ended[2] = 77; },
     Cause::network_loss,
     {"see whether the interface dropped packets: `ip -s link show eth0`",
      "at 10.0.0.1, look at the sender's own losses, and send in smaller bursts (--burst-size)",
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
      "= 16` "
      "in [receive.chunk]"}},
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
