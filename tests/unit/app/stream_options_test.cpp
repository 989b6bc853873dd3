// SPDX-License-Identifier: BSD-3-Clause
#include "app/stream_options.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using runtime::Plan;
using test::expect_refused;
using test::parsed;
using test::planned;

TEST(Recv, DefaultsAreThoseOfThePlan) {
    const Plan plan = planned("recv --port ens1f0 239.1.2.3:7148");
    Plan expected;
    expected.ports.push_back({"p0", "ens1f0", 0});
    runtime::ReceivePlan stream;
    stream.name = "s0";
    stream.port = "p0";
    stream.endpoint_texts = {"239.1.2.3:7148"};
    stream.endpoints = parse_endpoints("239.1.2.3:7148");
    expected.receives.push_back(stream);
    EXPECT_EQ(plan, expected);
}

/// Expects that one option of recv changes one value of the default plan.
template <typename Change>
void expect_recv(const std::string& option, Change change) {
    SCOPED_TRACE(option);
    Plan expected = planned("recv --port p 239.1.2.3:7148");
    change(expected, expected.receives[0]);
    EXPECT_EQ(planned("recv --port p 239.1.2.3:7148 " + option), expected);
    EXPECT_EQ(planned("recv " + option + " --port p 239.1.2.3:7148"), expected);
}

using Receive = runtime::ReceivePlan;

TEST(Recv, EachOptionArrivesAtItsPlaceAndNowhereElse) {
    expect_recv("--max-packet-size 1500", [](Plan&, Receive& r) { r.max_packet_size = 1500; });
    expect_recv("--buffer-size 32MiB", [](Plan&, Receive& r) { r.buffer_size = 32u << 20; });
    expect_recv("--buffer-size 0", [](Plan&, Receive& r) { r.buffer_size = 0; });
    expect_recv("--poll busy", [](Plan&, Receive& r) { r.poll = runtime::PollMode::busy; });
    expect_recv("--poll interrupt", [](Plan&, Receive& r) { r.poll = runtime::PollMode::interrupt; });
    expect_recv("--udp-checksum", [](Plan& p, Receive&) { p.ports[0].udp_checksum = true; });
    expect_recv("--reassemble", [](Plan& p, Receive&) { p.ports[0].reassemble = true; });
    expect_recv("--max-poll 20", [](Plan&, Receive& r) { r.max_poll = 20; });
    expect_recv("--max-heaps 8", [](Plan&, Receive& r) { r.max_live = 8; });
    expect_recv("--substreams 80", [](Plan&, Receive& r) { r.substreams = 80; });
    expect_recv("--ring-heaps 16", [](Plan&, Receive& r) { r.queue_depth = 16; });
    expect_recv("--max-heap-bytes 64KiB", [](Plan&, Receive& r) { r.max_bytes = 65536; });
    expect_recv("--heap-timeout 250ms", [](Plan&, Receive& r) { r.timeout = 0.25; });
    expect_recv("--heap-timeout off", [](Plan&, Receive&) {});
    expect_recv("--history 0", [](Plan&, Receive& r) { r.history = 0; });
    expect_recv("--history-time 5s", [](Plan&, Receive& r) { r.history_time = 5; });
    expect_recv("--copy streaming", [](Plan&, Receive& r) { r.copy = memory::CopySetting::streaming; });
    expect_recv("--in-order", [](Plan&, Receive& r) { r.in_order = true; });
    expect_recv("--filter control", [](Plan&, Receive& r) { r.filter = "control"; });
    expect_recv("--stop-on-stop-item", [](Plan&, Receive& r) { r.stop_on_stop_item = true; });
    expect_recv("--expected-rate 8Gbps", [](Plan&, Receive& r) { r.expected_rate = 1e9; });
    expect_recv("--on-full drop_oldest",
                [](Plan&, Receive& r) { r.on_full = runtime::OnFullSetting::drop_oldest; });
    expect_recv("--on-full block", [](Plan&, Receive& r) { r.on_full = runtime::OnFullSetting::block; });
    expect_recv("--heap-memory fake", [](Plan&, Receive& r) { r.engine = runtime::HeapEngine::fake; });
    expect_recv("--heap-memory cuda", [](Plan&, Receive& r) { r.engine = runtime::HeapEngine::cuda; });
    expect_recv("--sink verify", [](Plan&, Receive& r) { r.sink.kind = runtime::SinkKind::verify; });
    expect_recv("--sink null", [](Plan&, Receive&) {});
    expect_recv("--on-sink-error end --sink file:a", [](Plan&, Receive& r) {
        r.sink = {runtime::SinkKind::file, "a", runtime::OnSinkError::end};
    });
    expect_recv("--sink dada:d1d0 --sink-header h", [](Plan&, Receive& r) {
        r.sink.kind = runtime::SinkKind::dada;
        r.sink.ring = "d1d0";
        r.sink.header = "h";
    });
    expect_recv("--sink dada", [](Plan&, Receive& r) { r.sink.kind = runtime::SinkKind::dada; });
    expect_recv("--sink raw:a:b", [](Plan&, Receive& r) { r.sink = {runtime::SinkKind::raw, "a:b"}; });
    expect_recv("--sink file:out/a", [](Plan&, Receive& r) { r.sink = {runtime::SinkKind::file, "out/a"}; });
    expect_recv("--lcores 1,3-5", [](Plan&, Receive& r) { r.lcores = {1, 3, 4, 5}; });
    expect_recv("--memory 2GiB", [](Plan& p, Receive&) { p.memory.heaps = std::uint64_t{2} << 30; });
    expect_recv("--heaps 100", [](Plan& p, Receive&) { p.end.heaps = 100; });
    expect_recv("--duration 2min", [](Plan& p, Receive&) { p.end.duration = 120; });
    expect_recv("--duration 5", [](Plan& p, Receive&) { p.end.duration = 5; });
    expect_recv("--duration off", [](Plan&, Receive&) {});
    expect_recv("--idle-exit 2.5", [](Plan& p, Receive&) { p.end.idle_exit = 2.5; });
    expect_recv("--exit-on-stop", [](Plan& p, Receive&) { p.end.exit_on_stop = true; });
}

TEST(Recv, EachEndpointArgumentIsAStreamRangesIncluded) {
    const Plan plan = planned("recv --port p 239.1.2.0+15:7148 --max-poll 3 239.2.0.1:7148@10.0.0.7");
    ASSERT_EQ(plan.receives.size(), 2u);
    EXPECT_EQ(plan.receives[0].name, "s0");
    EXPECT_EQ(plan.receives[0].endpoints.size(), 16u);
    EXPECT_EQ(plan.receives[0].endpoint_texts, std::vector<std::string>{"239.1.2.0+15:7148"});
    EXPECT_EQ(plan.receives[1].name, "s1");
    EXPECT_EQ(to_string(plan.receives[1].endpoints[0]), "239.2.0.1:7148@10.0.0.7");
    for (const auto& stream : plan.receives) {
        EXPECT_EQ(stream.max_poll, 3u);
        EXPECT_EQ(stream.port, "p0");
    }
}

TEST(Recv, BracketsOfIpv6Stay) {
    const Plan plan = planned("recv --port p [ff15::1]:7148@[fd00:9::2] [ff15::2]:7148");
    ASSERT_EQ(plan.receives.size(), 2u);
    EXPECT_EQ(plan.receives[0].endpoint_texts, std::vector<std::string>{"[ff15::1]:7148@[fd00:9::2]"});
    EXPECT_EQ(to_string(plan.receives[0].endpoints[0]), "[ff15::1]:7148@fd00:9::2");
    for (const char* command : {"recv --port p [ff15::1]", "send --port p [ff15::1]", "loopback [ff15::1]"})
        expect_refused(command, {"`[ff15::1]`", "port"});
}

TEST(Recv, JointMakesThemOneStream) {
    const Plan plan = planned("recv --joint --port p 239.1.2.0+15:7148 239.2.0.1:7148");
    ASSERT_EQ(plan.receives.size(), 1u);
    EXPECT_EQ(plan.receives[0].name, "s0");
    EXPECT_EQ(plan.receives[0].endpoints.size(), 17u);
    EXPECT_EQ(plan.receives[0].endpoint_texts,
              (std::vector<std::string>{"239.1.2.0+15:7148", "239.2.0.1:7148"}));
}

TEST(Recv, OnePortServesAllStreamsOrEachHasItsOwn) {
    const Plan one = planned("recv --port net_memif0,role=client 239.1.2.3:7148 239.1.2.4:7148");
    ASSERT_EQ(one.ports.size(), 1u);
    EXPECT_EQ(one.ports[0].device, "net_memif0,role=client");
    EXPECT_EQ(one.receives[1].port, "p0");

    const Plan two = planned("recv --port a --port b 239.1.2.3:7148 239.1.2.3:7148");
    ASSERT_EQ(two.ports.size(), 2u);
    EXPECT_EQ(two.ports[1], (runtime::PortPlan{"p1", "b", 0}));
    EXPECT_EQ(two.receives[0].port, "p0");
    EXPECT_EQ(two.receives[1].port, "p1");

    expect_refused("recv --port a --port b 239.1.2.3:7148",
                   {"--port", "2 ports are given for 1 stream", "one for each endpoint"});
    expect_refused("recv --port a --port b --joint 239.1.2.3:7148 239.1.2.4:7148",
                   {"2 ports are given for 1 stream", "without --joint"});
    expect_refused("recv --port a --port a 239.1.2.3:7148 239.1.2.4:7148", {"--port", "same device"});
}

TEST(Recv, WithoutAPortTheEnvironmentNamesIt) {
    EXPECT_EQ(planned("recv 239.1.2.3:7148", {{"DPDK_SPEAD_INTERFACE", "ens1f0"}}).ports[0].device, "ens1f0");
    EXPECT_EQ(planned("recv --port a 239.1.2.3:7148", {{"DPDK_SPEAD_INTERFACE", "ens1f0"}}).ports[0].device,
              "a");
    EXPECT_EQ(planned("send 239.1.2.3:7148", {{"DPDK_SPEAD_INTERFACE", "ens1f0"}}).ports[0].device, "ens1f0");
}

TEST(Recv, WithoutAPortTheOnlyVirtualDeviceOfEalIsIt) {
    for (const char* eal :
         {"--vdev=net_memif0,role=client", "--vdev net_memif0,role=client", "-l 0 --vdev net_memif0"})
        EXPECT_EQ(planned(std::string(eal) + " -- recv 239.1.2.3:7148", {{"DPDK_SPEAD_INTERFACE", "ens1f0"}})
                      .ports[0]
                      .device,
                  "net_memif0");
    expect_refused("--vdev net_ring0 --vdev=net_ring1,a=b -- recv 239.1.2.3:7148",
                   {"--port", "2 ports", "net_ring0, net_ring1"});
    EXPECT_EQ(
        planned("--vdev net_ring0 --vdev=net_ring1 -- recv --port net_ring1 239.1.2.3:7148").ports[0].device,
        "net_ring1");
}

TEST(Recv, WithNothingNamedTheFormsOfAPortAreListed) {
    for (const char* command : {"recv", "send"})
        expect_refused(std::string(command) + " 239.1.2.3:7148",
                       {"needs a port", "--port", "DPDK_SPEAD_INTERFACE", "ens1f0", "10.0.0.5",
                        "net_af_packet0,iface=veth0"});
    expect_refused("recv 239.1.2.3:7148", {"needs a port"}, {{"DPDK_SPEAD_INTERFACE", ""}});
}

TEST(Recv, WithNothingNamedTheOnlyInterfaceThatCanBeMeantIsTaken) {
    const auto lone = [] { return port::LonePort{"ens1f0", {}}; };
    for (const char* const command : {"recv", "send"}) {
        const auto line = parsed({command, "239.1.2.3:7148"}, {}, lone);
        EXPECT_EQ(test::options_of<RunOptions>(line).plan.ports.at(0).device, "ens1f0");
        EXPECT_THAT(line.invocation.remarks, testing::ElementsAre(testing::HasSubstr("using ens1f0")));
    }
    const auto named = parsed({"recv", "239.1.2.3:7148"}, {{"DPDK_SPEAD_INTERFACE", "ens2"}}, lone);
    EXPECT_EQ(test::options_of<RunOptions>(named).plan.ports.at(0).device, "ens2");
    EXPECT_TRUE(named.invocation.remarks.empty());
}

TEST(Recv, WithNothingNamedWhatCannotBeGuessedIsListed) {
    const auto lone = [] { return port::LonePort{{}, "ens1f0, ens2 all qualify"}; };
    test::expect_passing_error(
        [&] {
            parsed({"recv", "239.1.2.3:7148"}, {}, lone);
        },
        {"needs a port", "--port", "ens1f0, ens2 all qualify"});
}

TEST(Recv, WhatWasTypedWrongIsSaidBeforeWhatWasNotTyped) {
    expect_refused("recv 239.1.2.3:7148 239.1.2.3:7148", {"ENDPOINT: 239.1.2.3:7148"});
    expect_refused("send 239.1.2.3:7148 --addr-bits 44", {"--addr-bits", "44"});
}

TEST(Recv, APortMayHaveAnAddressOfItsOwn) {
    const Plan own =
        planned("recv --port a --port b --address 10.0.0.5 --address 10.0.0.6 239.1.2.3:7148 239.1.2.4:7148");
    EXPECT_EQ(own.ports[0].address.value, 0x0A000005U);
    EXPECT_EQ(own.ports[1].address.value, 0x0A000006U);
    EXPECT_EQ(planned("send --port p --address 10.0.0.5 239.1.2.3:7148").ports[0].address.value, 0x0A000005U);
    expect_refused("send --port p --address 10.0.0.5 --address 10.0.0.6 239.1.2.3:7148",
                   {"--address", "2 IPv4 addresses are given for 1 port"});
    const Plan both = planned(
        "recv --port a --port b --address fd00::5 --address fd00::6 --address 10.0.0.5 --address 10.0.0.6 "
        "239.1.2.3:7148 [ff15::1]:7148");
    EXPECT_EQ(both.ports[1].address.value, 0x0A000006U);
    EXPECT_EQ(both.ports[1].address6, (Ipv6{0xFD00000000000000, 6})) << "each family is dealt by itself";
    expect_refused("recv --port a --port b --address fd00::5 239.1.2.3:7148 239.1.2.4:7148",
                   {"--address", "1 IPv6 address is given for 2 ports"});
    expect_refused("recv --port p --address ff15::1 239.1.2.3:7148", {"--address", "ff15::1"});
    expect_refused("recv --port p --address :: [ff15::1]:7148",
                   {"--address", "is not the address of a host"});
    expect_refused("recv --port p --address 0.0.0.0 239.1.2.3:7148", {"--address", "`0.0.0.0`"});
    expect_refused("recv --port p --address 10.0.0.500 239.1.2.3:7148", {"--address", "10.0.0.500"});
    expect_refused("recv --port p --address 239.1.2.3 239.1.2.3:7148", {"--address", "239.1.2.3"});
}

TEST(Recv, NeedsAnEndpoint) {
    expect_refused("recv --port p", {"recv needs an endpoint", "dpdk-spead recv 239.1.2.3:7148"});
    expect_refused("send --port p", {"send needs an endpoint", "dpdk-spead send 239.1.2.3:7148"});
}

TEST(Recv, WrongValuesNameTheOptionTheTextAndWhatIsRight) {
    const struct {
        const char* option;
        std::initializer_list<std::string_view> parts;
    } rows[] = {
        {"--max-packet-size 65508", {"--max-packet-size: `65508`", "32 to 65507"}},
        {"--max-packet-size 9KiB", {"--max-packet-size: `9KiB`", "whole number"}},
        {"--buffer-size 16M", {"--buffer-size: `16M`", "MiB"}},
        {"--buffer-size 1TiB", {"--buffer-size: `1TiB`", "64 GiB"}},
        {"--poll sleepy", {"--poll: `sleepy`", "busy, adaptive or interrupt"}},
        {"--max-poll 0", {"--max-poll: `0`", "1 to 1000000"}},
        {"--max-heaps 0", {"--max-heaps: `0`", "1 to 65536"}},
        {"--substreams x", {"--substreams: `x`", "1 to 65536"}},
        {"--ring-heaps -4", {"--ring-heaps: `-4`", "1 to 1048576"}},
        {"--max-heap-bytes 1GiB", {"--max-heap-bytes", "1 GiB", "512 MiB", "--memory"}},
        {"--max-heap-bytes 1.5", {"--max-heap-bytes: `1.5`", "whole number of bytes"}},
        {"--heap-timeout never", {"--heap-timeout: `never`", "ms"}},
        {"--history 9999999", {"--history: `9999999`", "0 to 1048576"}},
        {"--history-time off", {"--history-time: `off`", "seconds"}},
        {"--history-time 0", {"--history-time", "no heap is remembered"}},
        {"--on-full drop-newest", {"--on-full: `drop-newest`", "did you mean `drop_newest`"}},
        {"--sink disk",
         {"--sink: `disk`", "null, verify, file:DIR, raw:DIR, zarr:DIR, hdf5:DIR or dada:KEY"}},
        {"--sink dada:x", {"--sink: `x` is no key of a ring"}},
        {"--sink file", {"--sink: `file` names no directory", "file:DIR"}},
        {"--sink raw:", {"--sink: `raw:` names no directory", "raw:DIR"}},
        {"--sink file:", {"--sink: `file:` names no directory"}},
        {"--memory 1", {"--memory: `1`", "4 KiB"}},
        {"--heaps -1", {"--heaps: `-1`"}},
        {"--duration 5m", {"--duration: `5m`", "min"}},
        {"--idle-exit -1", {"--idle-exit: `-1`", "negative"}},
        {"--lcores 1,x", {"--lcores: `x` in `1,x`", "CPU number", "1,3-5"}},
        {"--lcores 1,,2", {"--lcores: `` in `1,,2`"}},
        {"--lcores 5-3", {"--lcores", "`5-3`", "backwards", "3-5"}},
        {"--lcores 1,1-2", {"--lcores: CPU 1", "twice"}},
        {"--lcores 1024", {"--lcores: `1024`", "0 to 1023"}},
        {"239.1.2.300:7148", {"endpoint `239.1.2.300:7148`", "`300`"}},
        {"239.1.2.0+7:7148", {"ENDPOINT", "239.1.2.3:7148", "`s0`"}},
        {"--rate 1Gbps", {"`--rate` is not an option of recv"}},
    };
    for (const auto& row : rows)
        expect_refused(std::string("recv --port p 239.1.2.3:7148 ") + row.option, row.parts);
}

TEST(Send, DefaultsAreThoseOfThePlan) {
    const Plan plan = planned("send --port ens1f0 239.1.2.3:7148");
    Plan expected;
    expected.ports.push_back({"p0", "ens1f0", 0});
    runtime::SendPlan sender;
    sender.name = "d0";
    sender.port = "p0";
    sender.endpoint_texts = {"239.1.2.3:7148"};
    sender.endpoints = parse_endpoints("239.1.2.3:7148");
    expected.sends.push_back(sender);
    EXPECT_EQ(plan, expected);
    EXPECT_EQ(sender.heap_size, std::uint64_t{4} << 20);
    EXPECT_EQ(packet_size(sender), 1472u);
    EXPECT_EQ(packet_size(planned("send --port ens1f0 [ff15::1]:7148").sends[0]), 1452u);
    EXPECT_EQ(sender.heaps, -1);
    EXPECT_EQ(sender.address_bits, 40);
}

template <typename Change>
void expect_send(const std::string& option, Change change) {
    SCOPED_TRACE(option);
    Plan expected = planned("send --port p 239.1.2.3:7148");
    change(expected, expected.sends[0]);
    EXPECT_EQ(planned("send --port p 239.1.2.3:7148 " + option), expected);
    EXPECT_EQ(planned("send " + option + " --port p 239.1.2.3:7148"), expected);
}

using Send = runtime::SendPlan;

TEST(Send, EachOptionArrivesAtItsPlaceAndNowhereElse) {
    expect_send("--heap-size 64KiB", [](Plan&, Send& s) { s.heap_size = 65536; });
    expect_send("--items 5", [](Plan&, Send& s) { s.items = 5; });
    expect_send("--heaps 100", [](Plan&, Send& s) { s.heaps = 100; });
    expect_send("--heaps 0", [](Plan&, Send& s) { s.heaps = 0; });
    expect_send("--heaps -1", [](Plan&, Send&) {});
    expect_send("--max-packet-size 8972", [](Plan&, Send& s) { s.max_packet_size = 8972; });
    expect_send("--rate 10Gbps", [](Plan&, Send& s) { s.rate = 1.25e9; });
    expect_send("--rate 0", [](Plan&, Send&) {});
    expect_send("--burst-size 128KiB", [](Plan&, Send& s) { s.burst_size = 131072; });
    expect_send("--burst-rate-ratio 1.5", [](Plan&, Send& s) { s.burst_rate_ratio = 1.5; });
    expect_send("--ttl 16", [](Plan&, Send& s) { s.ttl = 16; });
    expect_send("--dscp 46", [](Plan&, Send& s) { s.dscp = 46; });
    expect_send("--vlan 42", [](Plan& p, Send&) { p.ports[0].vlan = 42; });
    expect_send("--max-heaps 9", [](Plan&, Send& s) { s.max_heaps = 9; });
    expect_send("--first-count 0", [](Plan&, Send& s) { s.first_count = 0; });
    expect_send("--count-step 2", [](Plan&, Send& s) { s.count_step = 2; });
    expect_send("--addr-bits 48", [](Plan&, Send& s) { s.address_bits = 48; });
    expect_send("--zero-copy always", [](Plan&, Send& s) { s.zero_copy = runtime::ZeroCopySetting::always; });
    expect_send("--zero-copy auto", [](Plan&, Send&) {});
    expect_send("--verify", [](Plan&, Send& s) { s.verify = true; });
    expect_send("--udp-checksum", [](Plan&, Send& s) { s.udp_checksum = true; });
    expect_send("--impair loss=1%,seed=3", [](Plan&, Send& s) { s.impair = "loss=1%,seed=3"; });
    EXPECT_EQ(planned("send --port p 10.0.0.5:7148 --dst-mac 02:53:50:44:00:05").sends[0].dst_mac,
              (MacAddress{0x02, 0x53, 0x50, 0x44, 0x00, 0x05}));
    expect_send("--lcore 3", [](Plan&, Send& s) { s.lcore = 3; });
    expect_send("--duration 10s", [](Plan& p, Send&) { p.end.duration = 10; });
}

TEST(Send, AllEndpointsAreOneSenders) {
    const Plan plan = planned("send --port p 239.1.2.0+7:7148 239.9.0.1:7148");
    ASSERT_EQ(plan.sends.size(), 1u);
    EXPECT_EQ(plan.sends[0].endpoints.size(), 9u);
    EXPECT_EQ(plan.sends[0].endpoint_texts, (std::vector<std::string>{"239.1.2.0+7:7148", "239.9.0.1:7148"}));
}

TEST(Send, WrongValuesNameTheOptionTheTextAndWhatIsRight) {
    const struct {
        const char* option;
        std::initializer_list<std::string_view> parts;
    } rows[] = {
        {"--rate 10", {"--rate: `10` has no unit", "Gbps", "or 0"}},
        {"--heap-size 3", {"--heap-size: `3`", "4 B"}},
        {"--items 0", {"--items: `0`"}},
        {"--heap-size 8 --items 3", {"--items", "3 items", "8 B"}},
        {"--heaps -2", {"--heaps: `-2`", "-1 to"}},
        {"--heaps many", {"--heaps: `many`"}},
        {"--max-packet-size 55", {"--max-packet-size: `55`", "56 to 65507"}},
        {"--burst-size 0", {"--burst-size: `0`", "1 B"}},
        {"--burst-rate-ratio 0.9", {"--burst-rate-ratio: `0.9`", "1 to 1000"}},
        {"--burst-rate-ratio nan", {"--burst-rate-ratio: `nan`"}},
        {"--burst-rate-ratio 1.5x", {"--burst-rate-ratio: `1.5x`"}},
        {"--ttl 0", {"--ttl: `0`", "1 to 255"}},
        {"--ttl 256", {"--ttl: `256`", "1 to 255"}},
        {"--dscp 64", {"--dscp: `64`", "0 to 63"}},
        {"--vlan 0", {"--vlan: `0`", "1 to 4094"}},
        {"--vlan 4095", {"--vlan: `4095`", "1 to 4094"}},
        {"--addr-bits 41", {"--addr-bits", "41", "multiple of 8"}},
        {"--addr-bits 56", {"--addr-bits", "item ids"}},
        {"--addr-bits 16", {"--addr-bits", "4 MiB"}},
        {"--zero-copy yes", {"--zero-copy: `yes`", "auto, always or never"}},
        {"--max-heaps 0", {"--max-heaps: `0`"}},
        {"--dst-mac 02:53", {"--dst-mac: `02:53` is not a MAC address", "02:00:5e:10:00:01"}},
        {"--dst-mac 02:53:50:44:00:05", {"--dst-mac", "unicast endpoints"}},
        {"--lcore x", {"--lcore: `x`", "0 to 1023"}},
        {"239.1.2.3:7148@10.0.0.7", {"ENDPOINT", "@10.0.0.7", "only a receiver"}},
        {"--port q", {"--port", "one port", "p, q"}},
        {"--memory 1GiB", {"`--memory` is not an option of send"}},
    };
    for (const auto& row : rows)
        expect_refused(std::string("send --port p 239.1.2.3:7148 ") + row.option, row.parts);
}

TEST(Loopback, NeedsNothingAndEndsByItself) {
    const Plan plan = planned("loopback");
    ASSERT_EQ(plan.ports.size(), 1u);
    EXPECT_EQ(plan.ports[0].device, "net_ring0");
    ASSERT_EQ(plan.receives.size(), 1u);
    ASSERT_EQ(plan.sends.size(), 1u);
    EXPECT_EQ(plan.receives[0].endpoints, plan.sends[0].endpoints);
    EXPECT_EQ(plan.receives[0].sink.kind, runtime::SinkKind::verify);
    EXPECT_EQ(plan.receives[0].on_full, runtime::OnFullSetting::automatic);
    EXPECT_TRUE(plan.sends[0].verify);
    EXPECT_EQ(plan.sends[0].heaps, -1);
    EXPECT_EQ(plan.end.duration, 5);
    EXPECT_TRUE(plan.end.exit_on_stop);
}

TEST(Loopback, ItsPortSplitsPacketsAsReceiversDo) {
    EXPECT_EQ(planned("loopback --split 138 --heap-memory fake").ports[0].split, 138U);
    expect_refused("loopback --split 138", {"--split", "gather"});
}

TEST(Loopback, IgnoresTheEnvironmentsInterface) {
    EXPECT_EQ(planned("loopback", {{"DPDK_SPEAD_INTERFACE", "ens1f0"}}).ports[0].device, "net_ring0");
}

TEST(Loopback, ACountOfHeapsReplacesTheDuration) {
    EXPECT_EQ(planned("loopback --heaps 100").end.duration, 0);
    EXPECT_EQ(planned("loopback --heaps 100").sends[0].heaps, 100);
    EXPECT_EQ(planned("loopback --heaps 100 --duration 2").end.duration, 2);
    EXPECT_EQ(planned("loopback --duration off").end.duration, 0);
    EXPECT_EQ(planned("loopback --heaps -1").end.duration, 5);
}

TEST(Loopback, HasNoStoredHeapsBecauseItVerifiesItsOwn) {
    EXPECT_THROW(planned("loopback --from out"), UsageError);
    EXPECT_EQ(planned("send --port net_null0 --from out 239.1.2.3:7148").sends[0].from, "out");
}

TEST(Loopback, BothEndsShareWhatMustAgree) {
    const Plan plan = planned(
        "loopback --device net_ring7 --max-packet-size 8192 --max-heaps 9 --heap-size 1MiB "
        "--items 4 --addr-bits 48 "
        "--rate 8Gbps --in-order --zero-copy never --ring-heaps 7 --memory 1GiB "
        "--idle-exit 3 239.1.2.0+3:7148 239.2.2.2:7148");
    EXPECT_EQ(plan.ports[0].device, "net_ring7");
    ASSERT_EQ(plan.receives.size(), 2u);
    EXPECT_EQ(plan.receives[1].name, "s1");
    ASSERT_EQ(plan.sends.size(), 1u);
    EXPECT_EQ(plan.sends[0].endpoints.size(), 5u);
    EXPECT_EQ(plan.sends[0].max_packet_size, 8192u);
    EXPECT_EQ(plan.receives[0].max_packet_size, 8192u);
    EXPECT_EQ(plan.sends[0].max_heaps, 9u);
    EXPECT_EQ(plan.receives[0].max_live, 9u);
    EXPECT_TRUE(plan.receives[0].in_order);
    EXPECT_EQ(plan.receives[0].queue_depth, 7u);
    EXPECT_EQ(plan.sends[0].address_bits, 48);
    EXPECT_EQ(plan.sends[0].rate, 1e9);
    EXPECT_EQ(plan.memory.heaps, std::uint64_t{1} << 30);
    EXPECT_EQ(plan.end.idle_exit, 3);
}

TEST(Loopback, TheReceiverTakesTheHeapsThatAreSentUnlessToldOtherwise) {
    const Plan plan = planned("loopback --heap-size 128MiB --items 10");
    EXPECT_GT(plan.receives[0].max_bytes, std::uint64_t{128} << 20);
    EXPECT_EQ(planned("loopback").receives[0].max_bytes, std::uint64_t{64} << 20);
    expect_refused("loopback --max-heap-bytes 4MiB",
                   {"--heap-size", "4 MiB", "descriptors", "--max-heap-bytes"});
    expect_refused("loopback --heap-size 1GiB", {"--max-heap-bytes", "512 MiB", "--memory"});
}

TEST(Loopback, LcoresAreSharedOrTheLastOneSends) {
    EXPECT_EQ(planned("loopback").sends[0].lcore, std::nullopt);
    const Plan one = planned("loopback --lcores 2");
    EXPECT_EQ(one.receives[0].lcores, std::vector<unsigned>{2});
    EXPECT_EQ(one.sends[0].lcore, 2u);
    const Plan three = planned("loopback --lcores 1-3");
    EXPECT_EQ(three.receives[0].lcores, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(three.sends[0].lcore, 3u);
}

TEST(Loopback, JointReceivesAllEndpointsAsOneStream) {
    const Plan plan = planned("loopback --joint 239.1.2.0+3:7148 239.2.2.2:7148");
    ASSERT_EQ(plan.receives.size(), 1u);
    EXPECT_EQ(plan.receives[0].endpoints.size(), 5u);
}

TEST(Plans, OfTheCommandLineAreConfigurationsToo) {
    for (const char* line :
         {"recv --port net_memif0,role=client --sink file:out --lcores 1-3 239.1.2.0+3:7148 239.2.2.2:7148",
          "send --port eth0 --rate 1.1Gbps --lcore 2 239.1.2.3:7148", "loopback",
          "loopback --heaps 3 --joint 239.1.2.0+3:7148"}) {
        SCOPED_TRACE(line);
        const Plan plan = planned(line);
        EXPECT_EQ(config::parse_text(config::to_toml(plan), "printed"), plan);
    }
}

TEST(OptionOf, NamesTheOptionBehindAPathOfThePlan) {
    EXPECT_EQ(option_of("receive[0].heaps.queue_depth", "--port"), "--ring-heaps");
    EXPECT_EQ(option_of("receive[0].heaps.max_live", "--port"), "--max-heaps");
    EXPECT_EQ(option_of("receive[0].heaps.max_bytes", "--port"), "--max-heap-bytes");
    EXPECT_EQ(option_of("receive[0].heaps.history_time", "--port"), "--history-time");
    EXPECT_EQ(option_of("receive[0].heaps.history", "--port"), "--history");
    EXPECT_EQ(option_of("receive[0].sink.directory", "--port"), "--sink");
    EXPECT_EQ(option_of("receive[0].max_packet_size", "--port"), "--max-packet-size");
    EXPECT_EQ(option_of("receive[0].endpoints[3]", "--port"), "ENDPOINT");
    EXPECT_EQ(option_of("port[0].device", "--device"), "--device");
    EXPECT_EQ(option_of("receive[0].port", "--port"), "--port");
    EXPECT_EQ(option_of("port[1].address", "--port"), "--address");
    EXPECT_EQ(option_of("port[1].address6", "--port"), "--address");
    EXPECT_EQ(option_of("port[1].device", "--port"), "--port");
    EXPECT_EQ(option_of("memory.heaps", "--port"), "--memory");
    EXPECT_EQ(option_of("end.heaps", "--port"), "--heaps");
    EXPECT_EQ(option_of("receive[0].name", "--port"), "");
    EXPECT_EQ(option_of("", "--port"), "");
}

}  // namespace
}  // namespace spead::app
