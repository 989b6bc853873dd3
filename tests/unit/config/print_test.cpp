// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/limits.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::Plan;
using test::receive_plan;
using test::send_plan;

class RandomPlan {
  public:
    explicit RandomPlan(unsigned seed) : random_(seed) {}

    Plan make() {
        Plan plan;
        plan.runtime.name = name("run", 0);
        if (coin())
            plan.runtime.main_cpu = cpu();
        plan.runtime.lcores = cpus();
        if (coin())
            plan.runtime.on_event = {"/opt/tell me", "say \"hello\"", ""};
        plan.runtime.log_level = pick<std::string>({"", "debug", "spead.*:info;pmd.*:error"});
        plan.runtime.live = coin();
        plan.runtime.control = pick<std::string>({"", "auto", "/run/räume/p.sock"});
        if (coin())
            plan.runtime.metrics = ListenAddress{{pick<std::uint32_t>({0, 0x7F000001})}, 9100};
        if (coin())
            plan.runtime.lcore_timeout = pick<double>({0, 1, 30, 2.5});
        plan.memory.heaps = in(Limits<std::uint64_t>{std::uint64_t{1} << 30, kMemoryHeaps.max});
        const unsigned ports = 1 + number(2);
        for (unsigned i = 0; i < ports; i++)
            plan.ports.push_back(
                {name("p", i),
                 fmt::format("net_x{},{}", i, pick<std::string>({"a=b", "file=\"q\\w\"", "p=\tä\x7f\x01"})),
                 coin() ? 0u : 9216 + number(100),
                 Ipv4{coin() ? 0u : 0x0A000000 + number(1000)},
                 {},
                 static_cast<runtime::Doer>(number(3)),
                 coin()});
        const unsigned streams = number(3);
        for (unsigned i = 0; i < streams; i++)
            plan.receives.push_back(receive(i, plan));
        const unsigned sends = streams == 0 ? 1 + number(2) : number(3);
        for (unsigned i = 0; i < sends; i++)
            plan.sends.push_back(send(i, plan));
        plan.end.duration = time();
        if (streams > 0)
            plan.end = {number(1000), time(), time(), coin()};
        return plan;
    }

  private:
    capture::Options capture(unsigned i) {
        capture::Options c;
        c.files = {fmt::format("s{}.pcap", i)};
        if (coin())
            c.files.push_back(fmt::format("/räume/\"{}\"", i));
        c.rotate_size = in(kRotateSize);
        c.rotate_seconds = time();
        c.snap_length = in(kSnapLength);
        c.count = in(kCaptureCount);
        c.duration = time();
        c.direct_io = coin();
        c.buffer = in(kCaptureBuffer);
        c.only = coin();
        return c;
    }

    runtime::ReceivePlan receive(unsigned i, const Plan& plan) {
        // Each stream has a UDP port of its own, so that endpoints never overlap.
        runtime::ReceivePlan r =
            receive_plan(name("s", i), fmt::format("239.{}.0.0+{}:{}", i, number(20), 7148 + i));
        if (coin()) {
            r.endpoint_texts.push_back(fmt::format("spead://10.0.0.1:{}@10.1.1.{}", 7148 + i, number(200)));
            r.endpoints.push_back(parse_endpoints(r.endpoint_texts.back())[0]);
        }
        r.port = plan.ports[number(static_cast<unsigned>(plan.ports.size()))].name;
        r.lcores = cpus();
        r.poll = static_cast<runtime::PollMode>(number(3));
        r.max_poll = in(kMaxPoll);
        r.max_packet_size = in(kReceivePacket);
        r.buffer_size = in(kBufferSize);
        r.substreams = in(kSubstreams);
        r.in_order = coin();
        r.stop_on_stop_item = coin();
        r.enabled = coin();
        if (coin())
            r.filter = pick<std::string>({"item 0x1600 & 0xff == 3", "not (source in 10.0.0.0/8)"});
        r.held_buffers = coin() ? 0 : in(kHeldBuffers);
        r.silent_after = time();
        r.loss_threshold = pick<double>({0, 0.01, 1});
        r.expected_rate = pick<double>({0, 1.25e9, 3});
        r.max_live = in(kMaxLive);
        r.ring = in(kRing);
        r.max_bytes = in(Limits<std::uint64_t>{1, std::uint64_t{1} << 30});
        r.timeout = time();
        r.history = in(kHistory);
        r.history_time = std::ldexp(1.0 + time(), -3);
        r.on_full = static_cast<runtime::OnFull>(number(4));
        r.sink.kind = static_cast<runtime::SinkKind>(number(3));
        r.sink.on_error = static_cast<runtime::OnSinkError>(number(2));
        if (r.sink.kind == runtime::SinkKind::file)
            r.sink.directory = pick<std::string>({"out", "/data/räume", "a \"b\" \\c"});
        if (coin())
            r.capture = capture(i);
        return r;
    }

    runtime::SendPlan send(unsigned i, const Plan& plan) {
        runtime::SendPlan s = send_plan(name("d", i), fmt::format("239.20.{}.0+{}:7999", i, number(9)));
        s.port = plan.ports[number(static_cast<unsigned>(plan.ports.size()))].name;
        if (coin())
            s.lcore = cpu();
        s.rate = coin() ? 0 : std::exp(static_cast<double>(number(30)) + time() / 1e9);
        s.burst_size = in(kBurstSize);
        s.burst_rate_ratio = 1.0 + static_cast<double>(number(1000)) / 7;
        s.pacer = static_cast<runtime::Doer>(number(3));
        s.ttl = static_cast<std::uint8_t>(in(kTtl));
        s.dscp = static_cast<std::uint8_t>(in(kDscp));
        s.max_packet_size = in(Limits<std::uint32_t>{56, 9188});
        s.address_bits = static_cast<std::uint8_t>(pick<unsigned>({40, 48}));
        s.items = 1 + number(1000);
        s.heap_size = in(Limits<std::uint64_t>{4 * s.items, std::uint64_t{1} << 38});
        s.heaps = coin() ? -1 : in(Limits<std::int64_t>{0, kSendHeaps.max});
        s.max_heaps = in(kInFlight);
        s.timeout = time();
        s.first_count = in(kHeapCount);
        s.count_step = in(kCountStep);
        s.zero_copy = static_cast<runtime::ZeroCopy>(number(3));
        s.verify = coin();
        s.udp_checksum = coin();
        s.impair = coin() ? "" : "reorder=10,delay=1%:5ms";
        s.enabled = coin();
        if (coin()) {
            s.endpoint_texts.push_back(fmt::format("10.20.{}.7:7999", i));
            s.endpoints.push_back(parse_endpoints(s.endpoint_texts.back()).front());
            if (coin())
                s.dst_mac = MacAddress{2, 0, static_cast<std::uint8_t>(number(256)), 4, 0xfe, 6};
        }
        return s;
    }

    unsigned number(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
    bool coin() { return number(2) == 1; }
    unsigned cpu() { return in(kCpu); }
    std::vector<unsigned> cpus() {
        std::vector<unsigned> list;
        for (unsigned i = 0; i < number(4); i++)
            list.push_back(100 * i + number(100));
        return list;
    }
    double time() { return coin() ? 0 : std::uniform_real_distribution<double>(0, kMaxTime)(random_); }
    template <typename T>
    T in(Limits<T> limits) {
        // The ends are the likeliest to go wrong.
        switch (number(4)) {
            case 0:
                return limits.min;
            case 1:
                return limits.max;
            default:
                return std::uniform_int_distribution<T>(limits.min, limits.max)(random_);
        }
    }
    template <typename T>
    T pick(std::vector<T> list) {
        return list[number(static_cast<unsigned>(list.size()))];
    }
    std::string name(std::string_view prefix, unsigned i) {
        return fmt::format("{}{}{}", prefix, i, pick<std::string>({"", "-x", "_y.z"}));
    }

    static constexpr double kMaxTime = 1e6;
    std::mt19937_64 random_;
};

TEST(ToToml, EveryValidPlanReadsBackEqual) {
    for (unsigned seed = 0; seed < 2000; seed++) {
        const Plan plan = RandomPlan(seed).make();
        ASSERT_NO_THROW(validate(plan)) << "the test's own plan must be valid, seed " << seed;
        const std::string text = to_toml(plan);
        try {
            const Plan again = parse_text(text, "printed");
            ASSERT_EQ(again, plan) << "seed " << seed << "\n" << text;
            ASSERT_EQ(to_toml(again), text) << "seed " << seed;
        } catch (const Error& error) {
            FAIL() << "seed " << seed << ": " << error.what() << "\n" << text;
        }
    }
}

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
ring = 256
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
max_packet_size = 1472
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
