// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::Plan;

TEST(ToToml, LooksAsAPersonWouldWriteIt) {
    Plan plan = test::valid_plan();
    plan.sends[0].rate = 1.25e9;
    plan.receives[0].timeout = 0.25;
    EXPECT_EQ(to_toml(plan), R"(version = 1

[runtime]
name = "dpdk-spead"
lcores = []

[memory]
heaps = "512MiB"

[end]
heaps = 0
duration = "off"
idle_exit = "off"
exit_on_stop = false

[[port]]
name = "p0"
device = "net_ring0"
mtu = 0
timestamps = "software"
udp_checksum = false

[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
lcores = []
poll = "adaptive"
max_poll = 10
max_packet_size = 9200
buffer_size = "16MiB"
substreams = 1
in_order = false
stop_on_stop_item = false
enabled = true
silent_after = "off"
loss_threshold = 0
expected_rate = "0"
[receive.heaps]
max_live = 4
queue_depth = 256
max_bytes = "64MiB"
timeout = "250ms"
history = 1024
history_time = "1s"
on_full = "auto"
[receive.sink]
kind = "null"
on_error = "stop"

[[send]]
name = "d0"
port = "p0"
endpoints = ["239.20.0.1:7148"]
rate = "10Gbps"
burst_size = "64KiB"
burst_rate_ratio = 1.05
pacer = "software"
ttl = 1
dscp = 0
heap_size = "4MiB"
items = 1
heaps = -1
max_heaps = 4
timeout = "off"
first_count = 1
count_step = 1
addr_bits = 40
zero_copy = "auto"
verify = false
udp_checksum = false
enabled = true
)");
}

}  // namespace
}  // namespace spead::config
