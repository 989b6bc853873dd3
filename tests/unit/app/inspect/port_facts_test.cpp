// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/port_facts.hpp"

#include <algorithm>
#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rte_ethdev.h>
#include <rte_version.h>

namespace spead::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

PortFacts card() {
    PortFacts port;
    port.named = "ens1f0";
    port.family = "net_mlx5";
    port.pmd = "mlx5_pci";
    port.device = "0000:03:00.0,max_dump_files_num=1";
    port.netdev = "ens1f0";
    port.address = parse_ipv4("10.0.0.5");
    port.numa_node = 1;
    port.firmware = "22.35.1012";
    port.link = "up, 100 Gbps, full duplex";
    port.max_rx_queues = 1024;
    port.max_rx_descriptors = 32768;
    port.mtu = 9000;
    port.rx_offloads = {"IPV4_CKSUM", "SCATTER"};
    port.capabilities.steering = port::Steering::rte_flow;
    port.capabilities.isolation = true;
    port.capabilities.membership = port::Membership::kernel_socket;
    port.capabilities.tx_multi_segment = port.capabilities.tx_external_buffer = true;
    port.capabilities.late_free_segments = 31;
    port.capabilities.rx_interrupt = true;
    port.capabilities.max_rx_frame = port.capabilities.max_tx_frame = 9022;
    return port;
}

std::string how(const PortFacts& port, std::string_view name) {
    const auto list = features_of(port);
    const auto found = std::ranges::find(list, name, &Feature::name);
    return found == list.end() ? "" : found->how;
}

TEST(Features, AreSaidInPlainWords) {
    const PortFacts port = card();
    EXPECT_EQ(how(port, "steering"), "exact, by rte_flow, isolated: all other packets stay with the kernel");
    EXPECT_EQ(how(port, "zero-copy sending"),
              "yes, but for the last 31 segments before a pause, which are copied");
    EXPECT_EQ(how(port, "interrupt mode"), "yes");
    EXPECT_EQ(how(port, "largest packet"), "8972 bytes of UDP payload received, 8972 sent, at most");
    EXPECT_EQ(how(port, "send scheduling"), "");
}

TEST(Features, OfAPortOfKernelSockets) {
    PortFacts port = card();
    port.capabilities.steering = port::Steering::sockets;
    port.capabilities.membership = port::Membership::rules;
    port.capabilities.receives_only = true;
    EXPECT_EQ(how(port, "steering"), "exact, by the kernel: each endpoint has a UDP socket");
    EXPECT_EQ(how(port, "membership"), "by the kernel, through the socket of each endpoint");
    EXPECT_EQ(how(port, "zero-copy sending"), "no: the port only receives");
}

TEST(Features, WhoChecksUdpChecksums) {
    PortFacts port = card();
    EXPECT_EQ(how(port, "UDP checksums received").rfind("not checked", 0), 0U);
    port.capabilities.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    EXPECT_EQ(how(port, "UDP checksums received"), "checked by the port");
}

TEST(Features, OfAPlainPort) {
    PortFacts port;
    EXPECT_EQ(how(port, "steering"), "in software, from one receive queue; more lcores work behind it");
    EXPECT_EQ(how(port, "interrupt mode"), "no, adaptive instead");
    EXPECT_THAT(how(port, "zero-copy sending"),
                HasSubstr("no: the device takes a packet in one buffer only"));
    port.capabilities.tx_multi_segment = true;
    EXPECT_THAT(how(port, "zero-copy sending"), HasSubstr("no: the device works on DPDK's own memory only"));
    port.capabilities.tx_external_buffer = true;
    EXPECT_EQ(how(port, "zero-copy sending"), "yes");
    port.capabilities.tx_multi_segment = false;
    port.capabilities.corrupts_chains = true;
    EXPECT_THAT(how(port, "zero-copy sending"),
                AllOf(HasSubstr("corrupts packets in several buffers"), HasSubstr(rte_version())));
    port.capabilities.distributes_flows = true;
    EXPECT_THAT(how(port, "steering"), HasSubstr("distributes flows over its queues"));
    port.capabilities.steering = port::Steering::xdp_map;
    EXPECT_THAT(how(port, "steering"), HasSubstr("by an XDP program"));
    port.capabilities.lossless = port.capabilities.receives_own = port.capabilities.finite = true;
    port.capabilities.needs_peer = true;
    for (const char* const name : {"when the receiver is slow", "loopback", "end", "peer"})
        EXPECT_NE(how(port, name), "") << name;
}

TEST(DescribePort, TellsWhatIsKnown) {
    EXPECT_THAT(
        describe(card()),
        AllOf(HasSubstr("ens1f0\n  driver                      net_mlx5 (mlx5_pci)\n"),
              HasSubstr("firmware                    22.35.1012"), HasSubstr("NUMA node                   1"),
              HasSubstr("receive offloads            IPV4_CKSUM SCATTER"),
              HasSubstr("transmit offloads           none"),
              HasSubstr("IPv4 address                10.0.0.5")));
    PortFacts plain = card();
    plain.firmware.clear();
    plain.numa_node = -1;
    plain.address = {};
    EXPECT_THAT(describe(plain), AllOf(Not(HasSubstr("firmware")),
                                       HasSubstr("NUMA node                   any"), Not(HasSubstr("IPv4"))));
}

TEST(DescribePort, LimitsThatNobodyToldAreLeftOut) {
    PortFacts derived = card();
    EXPECT_THAT(describe(derived), HasSubstr("queues                      receive 1024, transmit 0\n"));
    EXPECT_THAT(describe(derived), HasSubstr("MTU                         9000\n"));
    derived.max_rx_queues = 0;
    EXPECT_THAT(describe(derived), Not(HasSubstr("queues")));
    derived.max_mtu = 9978;
    EXPECT_THAT(describe(derived), HasSubstr("MTU                         9000, at most 9978\n"));
}

TEST(DescribePort, OneThatCouldNotBeOpenedSaysWhy) {
    PortFacts port;
    port.named = "eth0";
    port.error = "it carries the default route";
    EXPECT_EQ(describe(port), "eth0\n  not opened                  it carries the default route\n");
    EXPECT_EQ(port_document(port)["error"], "it carries the default route");
}

TEST(PortDocument, HasFactsAndFeatures) {
    const auto json = port_document(card());
    EXPECT_EQ(json["port"], "ens1f0");
    EXPECT_EQ(json["queues"]["rx"], 1024);
    EXPECT_EQ(json["capabilities"]["late_free_segments"], 31);
    EXPECT_EQ(json["features"]["interrupt mode"], "yes");
    EXPECT_FALSE(json.contains("error"));
}

}  // namespace
}  // namespace spead::app
