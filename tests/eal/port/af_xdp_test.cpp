// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include "drivers/xdp_program.hpp"
#include "tests/eal/port/port_rig.hpp"

namespace spead::port {

namespace {

using namespace test;

bool shell(const std::string& command) {
    return std::system(("PATH=$PATH:/usr/sbin:/sbin; " + command + " >/dev/null 2>&1").c_str()) == 0;
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Returns a UDP frame to 239.1.1.1:7148 with so many bytes of payload, each of them its number.
std::vector<std::uint8_t> udp_frame(std::uint8_t number, std::size_t payload) {
    std::vector<std::uint8_t> bytes{0x01, 0, 0x5E, 1, 1, 1, 2,    0,    0,    0,    0, 9, 8,  0,
                                    0x45, 0, 0,    0, 0, 0, 0x40, 0,    1,    17,   0, 0, 10, 9,
                                    0,    2, 239,  1, 1, 1, 0x9C, 0x40, 0x1B, 0xEC, 0, 0, 0,  0};
    const auto put = [&](std::size_t at, std::size_t value) {
        bytes[at] = static_cast<std::uint8_t>(value >> 8);
        bytes[at + 1] = static_cast<std::uint8_t>(value);
    };
    put(16, 28 + payload);
    put(38, 8 + payload);
    bytes.insert(bytes.end(), payload, number);
    return bytes;
}

const Endpoint kEndpoint{Ipv4{0xEF010101}, 7148, {}};

class AfXdpPort : public testing::Test {
  protected:
    void SetUp() override {
        if (!drivers::xdp_built()) {
            GTEST_SKIP() << "built without the XDP program";
        }
        if (::geteuid() != 0 || ::unshare(CLONE_NEWNET) != 0 ||
            !shell("ip link add dut type veth peer name peer && ip link set dut up && ip link set peer up")) {
            GTEST_SKIP() << "needs root, ip and veth";
        }
        wire_ = ::socket(AF_PACKET, SOCK_RAW, __builtin_bswap16(ETH_P_ALL));
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = __builtin_bswap16(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(::if_nametoindex("peer"));
        ASSERT_EQ(::bind(wire_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    void TearDown() override {
        if (wire_ >= 0) {
            ::close(wire_);
        }
    }

    void put(const std::vector<std::uint8_t>& bytes) const {
        ASSERT_EQ(::send(wire_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    /// Returns the next frame of our experimental type at the peer, and ignores the kernels' own.
    std::vector<std::uint8_t> get() const {
        for (int i = 0; i < 100; ++i) {
            std::vector<std::uint8_t> bytes(4096);
            const auto length = ::recv(wire_, bytes.data(), bytes.size(), 0);
            bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
            if (bytes.size() > 14 && bytes[12] == 0x88 && bytes[13] == 0xB5) {
                return bytes;
            }
        }
        return {};
    }

    int wire_ = -1;
};

TEST_F(AfXdpPort, FramesOfARuleArriveAndOthersDoNot) {
    const auto port = open_port(request("net_af_xdp0,iface=dut", 1, 0));
    port->start();
    port->add_rule({kEndpoint, {0}, std::nullopt});
    put(frame(1, 200));
    std::vector<std::vector<std::uint8_t>> sent;
    for (std::uint8_t i = 0; i < 100; ++i) {
        sent.push_back(udp_frame(i, 10 * std::size_t{i} + 40));
        put(sent.back());
    }
    EXPECT_EQ(receive(port->rx_queue(0), 100, 100000), sent);
    EXPECT_EQ(port->rules().front().hits, 100U);
    port->remove_rule(kEndpoint);
    put(sent.back());
    EXPECT_TRUE(receive(port->rx_queue(0), 1).empty());
    EXPECT_TRUE(port->rules().empty());
}

TEST_F(AfXdpPort, MoreThanTheQueueHoldsIsCountedAsMissed) {
    const auto port = open_port(request("net_af_xdp0,iface=dut", 1, 0));
    port->start();
    port->add_rule({kEndpoint, {0}, std::nullopt});
    for (int i = 0; i < 3000; ++i) {
        put(udp_frame(7, 1000));
    }
    const auto received = receive(port->rx_queue(0), 3000, 100000);
    EXPECT_EQ(received.size(), 2048U);
    EXPECT_EQ(received.size() + port->nic().missed, 3000U);
    put(udp_frame(8, 100));  // and it goes on
    EXPECT_EQ(receive(port->rx_queue(0), 1, 100000).size(), 1U);
}

TEST_F(AfXdpPort, TheLargestFrameArrivesWhole) {
    ASSERT_TRUE(shell("ip link set dut mtu 3498 && ip link set peer mtu 3498"));
    const auto port = open_port(request("net_af_xdp0,iface=dut", 1, 0, 3470));
    port->start();
    port->add_rule({kEndpoint, {0}, std::nullopt});
    put(udp_frame(5, 3470));
    const auto received = receive(port->rx_queue(0), 1, 100000);
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received.front(), udp_frame(5, 3470));
}

TEST_F(AfXdpPort, SentFramesReachThePeerAndMbufsTheirPool) {
    const auto port = open_port(request("net_af_xdp0,iface=dut", 0, 1, 1472));
    port->start();
    const Pool pool;
    for (std::uint32_t i = 0; i < 200; ++i) {
        const auto bytes = frame(i, 60 + i);
        ASSERT_TRUE(send(port->tx_queue(0), pool.make(bytes)));
        EXPECT_EQ(get(), bytes);
    }
    EXPECT_EQ(port->nic().errors, 0U);
}

TEST_F(AfXdpPort, NothingIsLeftBehind) {
    {  // opened once for the process
        const auto port = open_port(request("net_af_xdp0,iface=dut"));
        port->start();
    }
    const auto before = open_descriptors();
    for (int i = 0; i < 3; ++i) {
        const auto port = open_port(request("net_af_xdp0,iface=dut"));
        port->start();
        port->add_rule({kEndpoint, {0}, std::nullopt});
        put(udp_frame(1, 100));
        EXPECT_EQ(receive(port->rx_queue(0), 1, 100000).size(), 1U);
        EXPECT_TRUE(drivers::attached_program("dut"));
        port->close();
        EXPECT_FALSE(drivers::attached_program("dut"));
        EXPECT_TRUE(port->remarks().empty()) << port->remarks().front();
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(AfXdpPort, AStoppedPortStartsAgainWithoutRules) {
    const auto port = open_port(request("net_af_xdp0,iface=dut", 1, 0));
    for (std::uint8_t i = 0; i < 3; ++i) {
        port->start();
        EXPECT_TRUE(port->rules().empty());
        port->add_rule({kEndpoint, {0}, std::nullopt});
        put(udp_frame(i, 100));
        EXPECT_EQ(receive(port->rx_queue(0), 1, 100000).size(), 1U);
        port->stop();
    }
}

TEST_F(AfXdpPort, WhatTheKernelRefusesIsPassedOn) {
    ASSERT_TRUE(shell("ip link set peer mtu 9000"));
    const auto text = error_of([] { open_port(request("net_af_xdp0,iface=dut", 1, 0)); });
    EXPECT_NE(text.find("MTU is too large"), std::string::npos) << text;
    EXPECT_FALSE(drivers::attached_program("dut"));
}

TEST_F(AfXdpPort, AnInterfaceIsOnePort) {
    const auto port = open_port(request("net_af_xdp0,iface=dut"));
    EXPECT_NE(error_of([] { open_port(request("net_af_xdp1,iface=dut")); }).find("dut is already open"),
              std::string::npos);
}

}  // namespace

}  // namespace spead::port
