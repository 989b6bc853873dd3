// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/known_run.hpp"

/// Lists cures of receive queues that are too short, in a run whose settings are known.
namespace spead::stats::test {

inline const CureRow kQueueCureRows[] = {
    {"LongerRing",
     [](Snapshot& s) { s.ports[0].nic.missed = 77; },
     Cause::receive_ring_short,
     {"set `buffer_size = \"32MiB\"` in [[receive]] of s0 in /etc/x.toml (now 16MiB), and restart: the queue "
      "then holds 4096 packets instead of 2048",
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
      "stream start s0`: its sockets then have 16777216 bytes each, and not 212992"}},
    {"ABufferBelowTheLeastOfAPort",
     [](Snapshot& s) {
         with_sockets(s, 16 << 20);
         s.settings.socket_limit = 64 << 20;
         s.streams[0].settings.buffer_size = 1 << 20;
     },
     Cause::receive_ring_short,
     {"set `buffer_size = \"32MiB\"` in [[receive]] of s0 in /etc/x.toml (now 16MiB, the least that a port "
      "has "
      "here), and restart"}},
    {"ALengthInTheDevice",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].settings.larger_buffer = 0;
         s.ports[0].settings.longer_device = "net_af_packet0,iface=eth0,framecnt=4096";
     },
     Cause::receive_ring_short,
     {"set `device = \"net_af_packet0,iface=eth0,framecnt=4096\"` in [[port]] of p0 in /etc/x.toml, and "
      "restart: "
      "the queue then holds 4096 packets instead of 2048"}},
    {"ALengthInTheDeviceByOption",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].settings.larger_buffer = 0;
         s.ports[0].settings.longer_device = "net_af_packet0,iface=eth0,framecnt=4096";
         s.settings.configuration = "";
     },
     Cause::receive_ring_short,
     {"restart with `--port net_af_packet0,iface=eth0,framecnt=4096`: the queue then holds 4096 packets "
      "instead "
      "of 2048"}},
    {"SocketsWithAllTheyAskedFor",
     [](Snapshot& s) {
         with_sockets(s, 16 << 20);
         s.settings.socket_limit = 20 << 20;
         s.settings.configuration = "";
     },
     Cause::receive_ring_short,
     {"run `sysctl -w net.core.rmem_max=33554432` as root (now 20971520)",
      "restart with `--buffer-size 32MiB` (now 16MiB)"}},
};

}  // namespace spead::stats::test
