// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <poll.h>
#include <thread>

#include "tests/eal/port/port_rig.hpp"
#include "tests/support/keeping_child.hpp"
#include "tests/support/udp_sender.hpp"
#include "wire/net.hpp"

/// Tests net_kernel: datagrams of loopback through sockets into mbufs.
namespace spead::port::test {
namespace {

using recv::test::Bytes;
using recv::test::free_port;
using recv::test::kLoopback;
using recv::test::UdpSender;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kKernelGroup = recv::test::kGroup;
constexpr const char* kOnLoopback = "net_kernel0,iface=lo";

PortRequest kernel_request(std::uint16_t queues = 1, std::string device = kOnLoopback) {
    return request(std::move(device), queues, 0);
}

Endpoint kernel_endpoint(std::uint32_t address, std::uint16_t port = free_port()) {
    return {{address}, port, {}};
}

/// Returns `length` bytes that tell the number.
Bytes datagram_of(std::uint32_t number, std::size_t length = 100) {
    Bytes bytes(length);
    for (std::size_t i = 0; i < length; i++)
        bytes[i] = static_cast<std::uint8_t>(number * 7 + i);
    return bytes;
}

/// Parses a received frame as the lcores do, and returns its payload.
Bytes payload_of(const Bytes& received, wire::UdpView& udp) {
    EXPECT_EQ(wire::parse_udp(received.data(), received.size(), received.size(), true, udp),
              PortOutcome::stream);
    EXPECT_EQ(udp.payload_offset + udp.payload_length, received.size());
    return {received.begin() + udp.payload_offset, received.end()};
}

TEST(KernelPort, ReceivesUnicastAndGroupsWithTheirHeaders) {
    const auto port = open_port(kernel_request());
    EXPECT_EQ(port->device_name(), "net_null_kernel0");
    port->start();
    EXPECT_THAT(receive(port->rx_queue(0), 1, 3), IsEmpty()) << "net_null's own packets reach nobody";
    for (const std::uint32_t address : {kLoopback, kKernelGroup}) {
        const Endpoint to = kernel_endpoint(address);
        port->add_rule({to, {0}, {}});
        const UdpSender sender(to, 0x7F000005);
        for (std::uint32_t n = 0; n < 100; n++)
            sender.send(datagram_of(n, 1 + n * 14));
        const auto packets = receive(port->rx_queue(0), 100);
        ASSERT_EQ(packets.size(), 100U);
        for (std::uint32_t n = 0; n < 100; n++) {
            wire::UdpView udp{};
            EXPECT_EQ(payload_of(packets[n], udp), datagram_of(n, 1 + n * 14));
            EXPECT_EQ(udp.dst_ip, address);
            EXPECT_EQ(udp.dst_port, to.port);
            EXPECT_EQ(udp.src_ip, 0x7F000005U);
        }
        port->remove_rule(to);
        sender.send(datagram_of(0));
        EXPECT_THAT(receive(port->rx_queue(0), 1), IsEmpty());
        port->add_rule({to, {0}, {}});
        sender.send(datagram_of(7));
        EXPECT_EQ(receive(port->rx_queue(0), 1).size(), 1U) << "the endpoint can come back";
    }
    EXPECT_EQ(port->rules().size(), 2U);
    EXPECT_THAT(port->rules().front().text, HasSubstr("-> receive queue 0"));
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

TEST(KernelPort, StartsAgain) {
    const auto port = open_port(kernel_request());
    const Endpoint to = kernel_endpoint(kLoopback);
    const UdpSender sender(to);
    for (std::uint32_t i = 0; i < 5; i++) {
        port->start();
        EXPECT_THAT(port->rules(), IsEmpty());
        port->add_rule({to, {0}, {}});
        sender.send(datagram_of(i));
        wire::UdpView udp{};
        const auto packets = receive(port->rx_queue(0), 1);
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_EQ(payload_of(packets.front(), udp), datagram_of(i));
        port->stop();
    }
}

TEST(KernelPort, AStopForgetsSocketsThatAChildProcessKeeps) {
    const auto port = open_port(kernel_request());
    const Endpoint kept = kernel_endpoint(kLoopback);
    const Endpoint fresh = kernel_endpoint(kLoopback);
    port->start();
    port->add_rule({kept, {0}, {}});
    const spead::test::KeepingChild child;
    port->stop();
    port->start();
    port->add_rule({fresh, {0}, {}});
    UdpSender(kept).send(datagram_of(1));
    UdpSender(fresh).send(datagram_of(2));
    const auto packets = receive(port->rx_queue(0), 2);
    ASSERT_EQ(packets.size(), 1U);
    wire::UdpView udp{};
    EXPECT_EQ(payload_of(packets.front(), udp), datagram_of(2));
    port->stop();
}

TEST(KernelPort, EachRuleHasAQueue) {
    const auto port = open_port(kernel_request(2));
    port->start();
    const Endpoint first = kernel_endpoint(kLoopback);
    const Endpoint second = kernel_endpoint(kLoopback);
    port->add_rule({first, {0}, {}});
    port->add_rule({second, {1}, {}});
    UdpSender(first).send(datagram_of(1));
    UdpSender(second).send(datagram_of(2));
    const std::array<std::uint16_t, 2> wanted{first.port, second.port};
    for (std::uint16_t q = 0; q < 2; q++) {
        const auto packets = receive(port->rx_queue(q), 2);
        ASSERT_EQ(packets.size(), 1U) << q;
        wire::UdpView udp{};
        payload_of(packets.front(), udp);
        EXPECT_EQ(udp.dst_port, wanted[q]);
    }
}

TEST(KernelPort, ASourceMayBeNamed) {
    const auto port = open_port(kernel_request());
    port->start();
    const std::uint16_t number = free_port();
    const Endpoint to{{kKernelGroup}, number, {0x7F000002}};
    const Endpoint other{{kKernelGroup}, number, {0x7F000003}};
    const auto received = [&] {
        for (const std::uint32_t from : {0x7F000002U, 0x7F000003U, 0x7F000004U})
            UdpSender(to, from).send(datagram_of(1));
        return receive(port->rx_queue(0), 3).size();
    };
    port->add_rule({to, {0}, {}});
    EXPECT_EQ(received(), 1U);
    port->add_rule({other, {0}, {}});
    EXPECT_EQ(received(), 2U);
    port->remove_rule(to);
    EXPECT_EQ(received(), 1U);
    port->remove_rule(other);
    EXPECT_EQ(received(), 0U);
}

// The classifier of the stream tells the sources apart.
TEST(KernelPort, ASocketLivesUntilItsLastSourceIsRemoved) {
    const auto port = open_port(kernel_request());
    port->start();
    for (const std::uint32_t address : {kLoopback, kKernelGroup}) {
        const std::uint16_t number = free_port();
        const Endpoint first{{address}, number, {0x7F000002}};
        const Endpoint second{{address}, number, {0x7F000003}};
        const Endpoint any{{address}, number, {}};
        const auto received = [&] {
            UdpSender(any, 0x7F000003).send(datagram_of(1));
            return receive(port->rx_queue(0), 2).size();
        };
        for (const Endpoint& endpoint : {first, second, any})
            port->add_rule({endpoint, {0}, {}});
        EXPECT_EQ(received(), 1U);
        port->remove_rule(first);
        EXPECT_EQ(received(), 1U);
        port->remove_rule(any);
        EXPECT_EQ(received(), 1U) << "the second source remains";
        port->remove_rule(second);
        EXPECT_EQ(received(), 0U);
    }
}

TEST(KernelPort, ALongDatagramIsOneByteTooLong) {
    const auto port = open_port(kernel_request());
    port->start();
    const Endpoint to = kernel_endpoint(kLoopback);
    port->add_rule({to, {0}, {}});
    const UdpSender sender(to);
    for (const std::size_t length : {1472U, 1473U, 9000U})
        sender.send(datagram_of(1, length));
    sender.send({});
    const auto packets = receive(port->rx_queue(0), 4);
    ASSERT_EQ(packets.size(), 4U);
    EXPECT_EQ(packets[0].size(), wire::kNetHeader + 1472);
    EXPECT_EQ(packets[1].size(), wire::kNetHeader + 1473);
    EXPECT_EQ(packets[2].size(), wire::kNetHeader + 1473);
    EXPECT_EQ(packets[3].size(), wire::kNetHeader);
}

TEST(KernelPort, ABusyEndpointDoesNotStarveAnother) {
    PortRequest r = kernel_request();
    r.buffer_size = std::size_t{1} << 20;
    const auto port = open_port(r);
    port->start();
    const Endpoint busy = kernel_endpoint(kLoopback);
    const Endpoint quiet = kernel_endpoint(kLoopback);
    port->add_rule({busy, {0}, {}});
    port->add_rule({quiet, {0}, {}});
    const UdpSender many(busy);
    for (std::uint32_t n = 0; n < 100; n++)
        many.send(datagram_of(n));
    UdpSender(quiet).send(datagram_of(0));
    std::array<rte_mbuf*, 32> mbufs{};
    const std::uint16_t n = port->rx_queue(0).rx_burst(mbufs.data(), mbufs.size());
    EXPECT_GT(n, 1);
    std::size_t of_quiet = 0;
    for (std::uint16_t i = 0; i < n; i++) {
        wire::UdpView udp{};
        payload_of(bytes_of(mbufs[i]), udp);
        of_quiet += udp.dst_port == quiet.port;
        rte_pktmbuf_free(mbufs[i]);
    }
    EXPECT_EQ(of_quiet, 1U) << "both have a share of the first burst";
}

TEST(KernelPort, CountsWhatTheKernelDrops) {
    PortRequest r = kernel_request();
    r.buffer_size = 4096;
    const auto port = open_port(r);
    port->start();
    const Endpoint to = kernel_endpoint(kLoopback);
    port->add_rule({to, {0}, {}});
    const UdpSender sender(to);
    for (std::uint32_t n = 0; n < 100; n++)
        sender.send(datagram_of(n, 1000));
    const std::uint64_t came = receive(port->rx_queue(0), 100).size();
    EXPECT_GT(came, 0U);
    EXPECT_LT(came, 100U);
    EXPECT_EQ(port->nic().missed, 100 - came);
    port->remove_rule(to);
    port->stop();
    EXPECT_EQ(port->nic().missed, 100 - came) << "also of a closed socket";
}

TEST(KernelPort, EndpointsComeAndGoWhileAnLcorePolls) {
    const auto port = open_port(kernel_request());
    port->start();
    const Endpoint kept = kernel_endpoint(kLoopback);
    port->add_rule({kept, {0}, {}});
    std::atomic<bool> end{false};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> of_kept{0};
    std::thread lcore([&] {
        while (!end.load()) {
            for (const Bytes& packet : receive(port->rx_queue(0), 64, 1)) {
                wire::UdpView udp{};
                const Bytes payload = payload_of(packet, udp);
                wrong += payload != datagram_of(udp.dst_port);
                of_kept += udp.dst_port == kept.port;
            }
            std::this_thread::yield();
        }
    });
    const UdpSender sender(kept);
    for (int round = 0; round < 300; round++) {
        const Endpoint other = kernel_endpoint(round % 2 == 0 ? kLoopback : kKernelGroup);
        port->add_rule({other, {0}, {}});
        const UdpSender to_other(other);
        for (int i = 0; i < 5; i++) {
            to_other.send(datagram_of(other.port));
            sender.send(datagram_of(kept.port));
        }
        port->remove_rule(other);
    }
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (of_kept.load() + port->nic().missed < 1500 && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    end = true;
    lcore.join();
    EXPECT_EQ(wrong.load(), 0U);
    EXPECT_EQ(of_kept.load() + port->nic().missed, 1500U);
}

TEST(KernelPort, ADescriptorTellsOfPackets) {
    PortRequest r = kernel_request();
    r.interrupts = true;
    const auto port = open_port(r);
    port->start();
    const Endpoint to = kernel_endpoint(kLoopback);
    port->add_rule({to, {0}, {}});
    const RxEvents events = port->rx_events(0);
    ASSERT_EQ(events.parts().size(), 1U);
    pollfd watched{events.parts().front().fd, POLLIN, 0};
    EXPECT_EQ(::poll(&watched, 1, 0), 0);
    UdpSender(to).send(datagram_of(1));
    EXPECT_EQ(::poll(&watched, 1, 10000), 1);
    EXPECT_EQ(receive(port->rx_queue(0), 1).size(), 1U);
    EXPECT_EQ(::poll(&watched, 1, 0), 0);
}

TEST(KernelPort, WrongRequestsAreRefusedWithTheReason) {
    EXPECT_EQ(error_of([] { plan(request(kOnLoopback, 1, 1)); }),
              "port p0: net_kernel0 only receives; send through a port of another device, such as "
              "net_af_packet0,iface=veth0");
    EXPECT_EQ(error_of([] { plan(kernel_request(1, "net_kernel0,iface=nonesuch")); }),
              "port p0: `nonesuch` is no network interface and no address of one; `ip address` lists "
              "them");
    EXPECT_THAT(error_of([] { plan(kernel_request(1, "net_kernel0,interface=lo")); }),
                HasSubstr("interface"));
    PortRequest tagged = kernel_request();
    tagged.vlan = 5;
    EXPECT_EQ(error_of([&] { plan(tagged); }),
              "port p0: net_kernel0 in VLAN 5: the kernel takes tags off; name the network interface of that "
              "VLAN with iface=, without a VLAN");
    EXPECT_EQ(error_of([] { plan(kernel_request(1, "net_kernelfoo,iface=lo")); }),
              "port p0: net_kernelfoo has no number after net_kernel; name it net_kernel0");
    PortRequest large = kernel_request();
    large.max_rx_packet = 65365;
    EXPECT_EQ(error_of([&] { plan(large); }),
              "port p0: net_kernel0 receives payloads of up to 65364 bytes; lower the stream's "
              "max_packet_size (65365)");
    large.max_rx_packet = 65364;
    EXPECT_EQ(plan(large).rx.data_room, kMaxDataRoom);
}

TEST(KernelPort, AnMtuIsRemarkedAsItHasNoEffect) {
    PortRequest r = kernel_request();
    EXPECT_THAT(plan(r).remarks, IsEmpty());
    r.mtu = 9000;
    EXPECT_THAT(plan(r).remarks, testing::ElementsAre(HasSubstr("`mtu` has no effect on sockets")));
}

TEST(KernelPort, AnAddressMayComeLater) {
    const auto port = open_port(kernel_request());
    port->start();
    port->add_rule({kernel_endpoint(0xC0000205), {0}, {}});  // 192.0.2.5
    EXPECT_EQ(port->rules().size(), 1U);
}

TEST(KernelPort, WrongRulesAreRefusedWithTheReason) {
    const auto port = open_port(kernel_request());
    port->start();
    const Endpoint to = kernel_endpoint(kLoopback);
    EXPECT_THAT(error_of([&] {
                    port->add_rule({to, {0}, 5});
                }),
                HasSubstr("name the interface of that VLAN"));
    port->add_rule({to, {0}, {}});
    EXPECT_THAT(error_of([&] { port->add_rule({to, {0}, {}}); }), HasSubstr("has a socket already"));
    EXPECT_EQ(port->rules().size(), 1U) << "nothing has changed";
    UdpSender(to).send(datagram_of(1));
    EXPECT_EQ(receive(port->rx_queue(0), 1).size(), 1U);
}

}  // namespace
}  // namespace spead::port::test
