// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tests/unit/stats/diagnosed_run.hpp"

/// Makes a run whose settings are known, and ways to spoil it: its cures have values, files and commands.
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
    s.settings.cpus = s.settings.allowed_cpus = {0, 1, 2, 3};
    StreamSnapshot& stream = s.streams[0];
    stream.endpoints = {"239.1.2.3:7148"};
    stream.settings.max_live = 4;
    stream.settings.queue_depth = 256;
    stream.settings.substreams = 1;
    stream.settings.max_packet_size = 9200;
    stream.settings.max_bytes = 1 << 20;
    stream.settings.buffer_size = 16 << 20;
    stream.settings.cpus = {1};
    stream.settings.poll = "adaptive";
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

/// Lets the stream have two paths on its port. The second one brings so many of its 1000 packets.
inline void two_paths(Snapshot& s, std::uint64_t by_second) {
    StreamSnapshot& stream = s.streams[0];
    stream.path_ports = {"p0", "p0"};
    stream.path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
    stream.paths[0].packets = stream.paths[0].placed = stream.paths[0].passed = 1000;
    stream.paths[1].packets = stream.paths[1].redundant = by_second;
    stream.paths[1].passed = by_second == 0 ? 0 : 1000;
}

struct CureRow {
    const char* name;
    void (*change)(Snapshot&);
    Cause cause;
    std::vector<const char*> cures;  ///< begin so, in this order; the last ones may be left out
};

}  // namespace spead::stats::test
