// SPDX-License-Identifier: BSD-3-Clause
// Devices that EAL's --vdev made before the program asked for them (here made by rte_dev_probe, which leaves
// EAL in the same state), and what pools really take.
#include <gmock/gmock.h>

#include <rte_dev.h>
#include <rte_malloc.h>

#include "tests/eal/port/port_rig.hpp"
#include "tests/support/pcap_writer.hpp"

namespace spead::port::test {
namespace {

using spead::test::PcapWriter;
using testing::HasSubstr;

TEST(AdoptedPort, ADeviceOfEalIsAddressedByItsNameAndKeepsItsArguments) {
    const Directory directory;
    const auto path = directory.file("in.pcap");
    {
        PcapWriter file(path);
        file.record(frame(1, 100));
    }
    ASSERT_EQ(rte_dev_probe(("net_pcap0,rx_pcap=" + path).c_str()), 0);
    auto port = open_port(request("net_pcap0", 1, 0));
    EXPECT_EQ(port->devargs(), "net_pcap0,rx_pcap=" + path);
    port->start();
    EXPECT_EQ(receive(port->rx_queue(0), 1).size(), 1U);
    EXPECT_TRUE(port->exhausted());
}

TEST(AdoptedPort, ItIsRemovedWhenItIsClosed) {
    ASSERT_EQ(rte_dev_probe("net_ring0"), 0);
    open_port(request("net_ring0"))->close();
    auto port = open_port(request("net_ring0"));
    port->start();
    EXPECT_TRUE(port->link_up());
}

TEST(AdoptedPort, ABareDriverNameDoesNotTakeIt) {
    ASSERT_EQ(rte_dev_probe("net_null0,size=100"), 0);
    {
        auto port = open_port(request("net_null", 0, 1));
        EXPECT_EQ(port->device_name(), "net_null1");
    }
    open_port(request("net_null0", 0, 1))->close();
}

TEST(AdoptedPort, OtherArgumentsThanThoseItHasAreRefused) {
    ASSERT_EQ(rte_dev_probe("net_null0,size=100"), 0);
    EXPECT_EQ(error_of([] { open_port(request("net_null0,size=200", 0, 1)); }),
              "port p0: EAL's --vdev already makes \"net_null0,size=100\"; name the port net_null0 without "
              "parameters");
    open_port(request("net_null0", 0, 1))->close();
}

TEST(AdoptedPort, WhatIsTooSmallCannotBeAddedToAndIsRefused) {
    ASSERT_EQ(rte_dev_probe("net_memif0,role=client"), 0);
    EXPECT_EQ(
        error_of([] { open_port(request("net_memif0", 1, 0, 9200)); }),
        "port p0: the default bsize 2048 is too small: packets of 9200 bytes of UDP payload + 42 of headers "
        "are "
        "frames of 9242, and memif corrupts frames above bsize; give bsize=9280, or lower the packet size");
    auto port = open_port(request("net_memif0", 1, 0, 1472));
    EXPECT_EQ(port->devargs(), "net_memif0,role=client");
}

TEST(AdoptedPort, APlanMadeBeforeEalStartedFitsTheDeviceThatEalMade) {
    const std::vector<PortRequest> requests{request("net_ring0")};
    const std::vector<std::string> vdevs{"net_ring0"};
    const auto planned = plan_ports(requests, drivers::table(), vdevs);
    EXPECT_THAT(error_of([&] { Port::open(planned.front()); }), HasSubstr("but EAL has not made it"));
    ASSERT_EQ(rte_dev_probe("net_ring0"), 0);
    EXPECT_THAT(error_of([&] { Port::open(plan_ports(requests, drivers::table()).front()); }),
                HasSubstr("already exists with another configuration"));
    Port::open(planned.front())->close();
}

std::size_t eal_bytes_in_use() {
    std::size_t sum = 0;
    for (int socket = 0; socket < RTE_MAX_NUMA_NODES; ++socket) {
        rte_malloc_socket_stats stats{};
        if (rte_malloc_get_socket_stats(socket, &stats) == 0) {
            sum += stats.heap_allocsz_bytes;
        }
    }
    return sum;
}

TEST(PlannedMemory, IsEnoughAndNotFarFromWhatAPortTakes) {
    const Directory directory;
    const auto capture = directory.file("in.pcap");
    {
        PcapWriter file(capture);
        file.record(frame(1, 9000));
    }
    for (const auto& device : {std::string{"net_ring0"}, std::string{"net_null0"},
                               "net_pcap0,rx_pcap=" + capture, std::string{"net_memif0,role=client"}}) {
        for (const std::uint32_t packet : {1472U, 9000U}) {
            const auto r = request(device, 1, 0, packet);
            const auto planned = plan(r).eal_bytes();
            const auto before = eal_bytes_in_use();
            auto port = open_port(r);
            port->start();
            const auto taken = eal_bytes_in_use() - before;
            EXPECT_LE(taken, planned) << device << " " << packet;
            EXPECT_GE(taken + (std::size_t{3} << 20), planned / 2) << device << " " << packet;
        }
    }
}

}  // namespace
}  // namespace spead::port::test
