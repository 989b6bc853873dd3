// SPDX-License-Identifier: BSD-3-Clause
// net_af_packet on one end of a veth pair in a network namespace of this process, plain kernel sockets on the
// other. Skipped with the reason where a namespace may not be made.
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "port/membership.hpp"
#include "port/netdev.hpp"
#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGroup = "239.1.2.3";
constexpr std::uint16_t kUdpPort = 7148;

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Returns "" if this process has a network namespace of its own, with veth pairs, or else the reason.
const std::string& namespace_problem() {
    static const std::string problem = [] {
        if (::unshare(CLONE_NEWNET) != 0) {
            return "a network namespace needs root: " + std::string(std::strerror(errno));
        }
        if (!run("ip link add veth0 type veth peer name veth1")) {
            return std::string("`ip link add ... type veth` does not work here");
        }
        run("ip link del veth0");
        std::ofstream("/proc/sys/net/ipv6/conf/all/disable_ipv6") << 1;
        std::ofstream("/proc/sys/net/ipv6/conf/default/disable_ipv6") << 1;
        return std::string();
    }();
    return problem;
}

std::vector<std::uint8_t> udp_frame(const std::vector<std::uint8_t>& payload) {
    std::vector<std::uint8_t> bytes(frame_of(0));
    auto* const ethernet = reinterpret_cast<rte_ether_hdr*>(bytes.data());
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(ethernet + 1);
    auto* const udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    ethernet->dst_addr = {{0x01, 0x00, 0x5E, 0x01, 0x02, 0x03}};
    ethernet->src_addr = {{0x02, 0x00, 0x00, 0x00, 0x00, 0x01}};
    ethernet->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
    ip->version_ihl = 0x45;
    ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(payload.size() + kIpUdpHeaders));
    ip->time_to_live = 1;
    ip->next_proto_id = IPPROTO_UDP;
    ip->src_addr = rte_cpu_to_be_32(kFallbackAddress.value);
    ip->dst_addr = rte_cpu_to_be_32(parse_ipv4(kGroup).value);
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    udp->src_port = rte_cpu_to_be_16(7000);
    udp->dst_port = rte_cpu_to_be_16(kUdpPort);
    udp->dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(payload.size() + 8));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

/// Says whether a socket joins the group, so that the kernel sends IGMP reports at moments of its own.
enum class Group { joined, not_joined };

/// Holds a kernel UDP socket on veth1.
class KernelSocket {
  public:
    explicit KernelSocket(Group joined = Group::joined) : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        int size = 8 << 20;
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
        address_.sin_family = AF_INET;
        address_.sin_port = rte_cpu_to_be_16(kUdpPort);
        address_.sin_addr.s_addr = rte_cpu_to_be_32(parse_ipv4(kGroup).value);
        EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
        ip_mreqn group{};
        group.imr_multiaddr = address_.sin_addr;
        group.imr_ifindex = static_cast<int>(::if_nametoindex("veth1"));
        if (joined == Group::joined) {
            EXPECT_EQ(::setsockopt(fd_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group), 0);
        }
        EXPECT_EQ(::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group), 0);
        int loop = 0;
        ::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop);
    }
    ~KernelSocket() { ::close(fd_); }
    KernelSocket(const KernelSocket&) = delete;
    KernelSocket& operator=(const KernelSocket&) = delete;

    void send(const std::vector<std::uint8_t>& payload) const {
        ASSERT_EQ(::sendto(fd_, payload.data(), payload.size(), 0,
                           reinterpret_cast<const sockaddr*>(&address_), sizeof address_),
                  static_cast<ssize_t>(payload.size()))
            << std::strerror(errno);
    }
    std::vector<std::uint8_t> receive() const {
        pollfd p{fd_, POLLIN, 0};
        if (::poll(&p, 1, 60000) != 1) {
            return {};
        }
        std::vector<std::uint8_t> payload(65536);
        const ssize_t n = ::recv(fd_, payload.data(), payload.size(), 0);
        payload.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return payload;
    }

  private:
    int fd_;
    sockaddr_in address_{};
};

/// Takes capabilities out of the effective set of this thread.
class WithoutCapability {
  public:
    explicit WithoutCapability(unsigned capability) {
        ::syscall(SYS_capget, &header_, before_);
        __user_cap_data_struct data[2] = {before_[0], before_[1]};
        data[capability / 32].effective &= ~(1U << capability % 32);
        EXPECT_EQ(::syscall(SYS_capset, &header_, data), 0);
    }
    ~WithoutCapability() { ::syscall(SYS_capset, &header_, before_); }
    WithoutCapability(const WithoutCapability&) = delete;
    WithoutCapability& operator=(const WithoutCapability&) = delete;

  private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct before_[2]{};
};

class AfPacketPort : public testing::Test {
  protected:
    void SetUp() override {
        if (!namespace_problem().empty()) {
            GTEST_SKIP() << namespace_problem();
        }
        ASSERT_TRUE(run("ip link add veth0 type veth peer name veth1"));
        for (const char* name : {"veth0", "veth1"}) {
            std::ofstream(std::string("/proc/sys/net/ipv4/conf/") + name + "/rp_filter") << 0;
        }
        std::ofstream("/proc/sys/net/ipv4/conf/all/rp_filter") << 0;
        ASSERT_TRUE(run("ip addr add 10.9.0.2/24 dev veth1"));
        ASSERT_TRUE(run("ip link set veth0 up"));
        ASSERT_TRUE(run("ip link set veth1 up"));
    }
    void TearDown() override {
        if (namespace_problem().empty()) {
            run("ip link del veth0");
        }
    }

    static std::vector<std::uint8_t> payload(std::uint32_t number, std::size_t length) {
        return frame(number, length);
    }

    /// Returns the UDP payloads that arrive at the port: `wanted` of them, or those of one minute.
    static std::vector<std::vector<std::uint8_t>> payloads(const RxQueue& queue, std::size_t wanted) {
        std::vector<std::vector<std::uint8_t>> found;
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (found.size() < wanted && std::chrono::steady_clock::now() < end) {
            for (const auto& bytes : receive(queue, 32, 1)) {
                const auto* const ethernet = reinterpret_cast<const rte_ether_hdr*>(bytes.data());
                const auto* const ip = reinterpret_cast<const rte_ipv4_hdr*>(ethernet + 1);
                if (bytes.size() >= frame_of(0) &&
                    ethernet->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) &&
                    ip->next_proto_id == IPPROTO_UDP) {
                    found.emplace_back(bytes.begin() + frame_of(0), bytes.end());
                }
            }
        }
        return found;
    }

    static std::uint32_t mtu(const std::string& name) { return netdev_facts(name)->mtu; }
};

TEST_F(AfPacketPort, ReceivesWhatAKernelSocketSends) {
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 0));
    port->start();
    const KernelSocket socket;
    for (std::uint32_t i = 0; i < 200; ++i) {
        socket.send(payload(i, 20 + i * 7));
    }
    const auto packets = payloads(port->rx_queue(0), 200);
    ASSERT_EQ(packets.size(), 200U);
    for (std::uint32_t i = 0; i < 200; ++i) {
        EXPECT_EQ(packets[i], payload(i, 20 + i * 7)) << i;
    }
    EXPECT_EQ(port->nic().missed, 0U);
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

TEST_F(AfPacketPort, SendsToAKernelSocketInOneSegmentInChainsAndFromExternalBuffers) {
    const Pool pool;
    const KernelSocket socket;
    auto port = open_port(request("net_af_packet0,iface=veth0", 0, 1));
    port->start();
    const auto tx = port->tx_queue(0);
    for (std::uint32_t i = 0; i < 100; ++i) {
        const auto bytes = udp_frame(payload(i, 20 + i * 14));
        ASSERT_TRUE(send(tx, i % 2 == 0 ? pool.make(bytes) : pool.make_chain(bytes, 42)));
        ASSERT_EQ(socket.receive(), payload(i, 20 + i * 14)) << i;
    }
    ExternalBuffer data(payload(7, 1000));
    rte_mbuf* packet = pool.make({});
    const auto bytes = udp_frame(payload(7, 1000));
    std::memcpy(rte_pktmbuf_append(packet, frame_of(0)), bytes.data(), frame_of(0));
    rte_pktmbuf_chain(packet, data.attach(pool));
    ASSERT_TRUE(send(tx, packet));
    EXPECT_EQ(socket.receive(), payload(7, 1000));
    EXPECT_EQ(data.released(), 1);
    EXPECT_EQ(port->nic().errors, 0U);
}

TEST_F(AfPacketPort, CarriesJumboFramesBothWaysAndRestoresTheMtu) {
    ASSERT_TRUE(run("ip link set veth1 mtu 9100"));
    const Pool pool(1023, 9500);
    const KernelSocket socket;
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 1, 9000));
    EXPECT_EQ(mtu("veth0"), 9028U);
    EXPECT_THAT(port->remarks(),
                ElementsAre("port p0: the MTU of veth0 is raised from 1500 to 9028 while the port is open"));
    port->start();
    for (std::uint32_t i = 0; i < 50; ++i) {
        ASSERT_TRUE(send(port->tx_queue(0), pool.make(udp_frame(payload(i, 9000)))));
        ASSERT_EQ(socket.receive(), payload(i, 9000));
        socket.send(payload(i + 1, 9000));
        ASSERT_THAT(payloads(port->rx_queue(0), 1), ElementsAre(payload(i + 1, 9000)));
    }
    port->close();
    EXPECT_EQ(mtu("veth0"), 1500U);
}

TEST_F(AfPacketPort, PlanningChangesNothingAndAnMtuThatSomebodyElseSetStays) {
    (void)plan(request("net_af_packet0,iface=veth0", 1, 1, 9000));
    EXPECT_EQ(mtu("veth0"), 1500U);
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 1, 9000));
    ASSERT_TRUE(run("ip link set veth0 mtu 9500"));
    port->close();
    EXPECT_EQ(mtu("veth0"), 9500U);
}

TEST_F(AfPacketPort, AReceiverOnlyWarnsWhenTheMtuIsSmallerThanItsPackets) {
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 0, 9200));
    EXPECT_EQ(mtu("veth0"), 1500U);
    EXPECT_THAT(port->remarks(),
                ElementsAre(AllOf(HasSubstr("packets above 1472 bytes of UDP payload will not arrive"),
                                  HasSubstr("ip link set veth0 mtu 9228"))));
    EXPECT_EQ(port->devargs(), "net_af_packet0,iface=veth0") << "rings for what can arrive";
}

TEST_F(AfPacketPort, AnMtuThatTheUserAsksForIsSet) {
    auto r = request("net_af_packet0,iface=veth0", 1, 0, 1472);
    r.mtu = 4000;
    auto port = open_port(r);
    EXPECT_EQ(mtu("veth0"), 4000U);
    port->close();
    EXPECT_EQ(mtu("veth0"), 1500U);
}

TEST_F(AfPacketPort, RingsFollowFromPacketsAndBufferSize) {
    ASSERT_TRUE(run("ip link set veth0 mtu 9300"));
    EXPECT_EQ(plan(request("net_af_packet0,iface=veth0", 1, 0, 1472)).devargs, "net_af_packet0,iface=veth0");
    EXPECT_EQ(plan(request("net_af_packet0,iface=veth0", 1, 0, 9200)).devargs,
              "net_af_packet0,iface=veth0,framesz=12288,blocksz=12288");
    auto buffered = request("net_af_packet0,iface=veth0", 1, 0, 9200);
    buffered.buffer_size = std::size_t{16} << 20;
    const auto p = plan(buffered);
    EXPECT_EQ(p.devargs, "net_af_packet0,iface=veth0,framesz=12288,blocksz=12288,framecnt=2048");
    EXPECT_EQ(p.outside_bytes, 2U * 2048 * 12288);
    EXPECT_EQ(p.capabilities.max_rx_frame, 12288U - 66);
    EXPECT_EQ(p.capabilities.max_tx_frame, 12288U - 32);
    EXPECT_GE(p.rx.data_room, 12288U - 32 + 128);
    EXPECT_EQ(plan(request("net_af_packet0,iface=veth0", 1, 0, 1932)).devargs, "net_af_packet0,iface=veth0")
        << "1932 + 42 + 8 + 66 = 2048";
    EXPECT_EQ(plan(request("net_af_packet0,iface=veth0", 1, 0, 1933)).devargs,
              "net_af_packet0,iface=veth0,framesz=4096");
    EXPECT_EQ(plan(request("net_af_packet0,iface=veth0,framesz=9408", 1, 0, 9200)).devargs,
              "net_af_packet0,iface=veth0,framesz=9408,blocksz=602112");
}

TEST_F(AfPacketPort, TheLargestFrameOfASlotArrivesWhole) {
    ASSERT_TRUE(run("ip link set veth0 mtu 1960"));
    ASSERT_TRUE(run("ip link set veth1 mtu 1960"));
    const Pool pool;
    const KernelSocket socket;
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 1, 1932));
    port->start();
    socket.send(payload(1, 1932));
    EXPECT_THAT(payloads(port->rx_queue(0), 1), ElementsAre(payload(1, 1932)));
    ASSERT_TRUE(send(port->tx_queue(0), pool.make(udp_frame(payload(2, 1932)))));
    EXPECT_EQ(socket.receive(), payload(2, 1932));
}

TEST_F(AfPacketPort, CountsWhatTheKernelLostInFrontOfIt) {
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 0));
    port->start();
    // A report would take one of the ring's 512 slots.
    const KernelSocket socket(Group::not_joined);
    for (std::uint32_t i = 0; i < 700; ++i) {
        socket.send(payload(i, 100));
    }
    const auto packets = payloads(port->rx_queue(0), 512);
    EXPECT_EQ(packets.size(), 512U);
    EXPECT_GE(port->nic().missed, 700U - 512U);
    const auto missed = port->nic().missed;
    port->close();
    EXPECT_EQ(port->nic().missed, missed);
}

TEST_F(AfPacketPort, MoreTransmitThanReceiveQueuesLoseNoReceivedPacket) {
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 4));
    EXPECT_THAT(port->devargs(), HasSubstr("qpairs=4"));
    port->start();
    // The kernel distributes packets by a hash of addresses and ports: many senders reach all four.
    for (int sender = 0; sender < 64; ++sender) {
        const KernelSocket socket;
        const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = rte_cpu_to_be_16(static_cast<std::uint16_t>(10000 + sender));
        to.sin_addr.s_addr = rte_cpu_to_be_32(parse_ipv4(kGroup).value);
        ip_mreqn out{};
        out.imr_ifindex = static_cast<int>(::if_nametoindex("veth1"));
        ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out);
        const auto bytes = payload(static_cast<std::uint32_t>(sender), 100);
        EXPECT_EQ(::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
                  100);
        ::close(fd);
    }
    EXPECT_EQ(payloads(port->rx_queue(0), 64).size(), 64U);
}

TEST_F(AfPacketPort, TellsTheNetdevsFacts) {
    ASSERT_TRUE(run("ip addr add 10.9.1.7/24 dev veth0"));
    auto port = open_port(request("net_af_packet0,iface=veth0"));
    const auto facts = netdev_facts("veth0");
    EXPECT_EQ(port->netdev(), "veth0");
    EXPECT_EQ(port->if_index(), facts->index);
    EXPECT_EQ(port->mac(), facts->mac);
    EXPECT_EQ(to_string(port->source_address()), "10.9.1.7");
    EXPECT_EQ(port->capabilities().membership, Membership::kernel_socket);
    EXPECT_FALSE(port->capabilities().lossless);
}

TEST_F(AfPacketPort, HasTheLinkOfTheNetdev) {
    auto port = open_port(request("net_af_packet0,iface=veth0"));
    EXPECT_EQ(port->source_address(), kFallbackAddress);
    EXPECT_FALSE(port->link_up());
    port->start();
    // The kernel reports a carrier in its own time.
    const auto becomes = [&](bool up) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (port->link_up() != up && std::chrono::steady_clock::now() < end) {
            sched_yield();
        }
        return port->link_up() == up;
    };
    EXPECT_TRUE(becomes(true));
    ASSERT_TRUE(run("ip link set veth1 down"));
    EXPECT_TRUE(becomes(false));
    ASSERT_TRUE(run("ip link set veth1 up"));
    EXPECT_TRUE(becomes(true));
}

TEST_F(AfPacketPort, IsFoundByTheNetdevsNameWithArgumentsOfItsOwn) {
    EXPECT_EQ(open_port(request("10.9.0.2,framecnt=1024"))->netdev(), "veth1");
    EXPECT_THAT(open_port(request("veth0,framecnt=1024"))->devargs(), HasSubstr("framecnt=1024"));
    EXPECT_THAT(error_of([] { open_port(request("10.9.0.99")); }),
                HasSubstr("no network interface of this machine has the address 10.9.0.99"));
}

TEST_F(AfPacketPort, MembershipOnItsNetdevIsTheKernels) {
    auto port = open_port(request("net_af_packet0,iface=veth0", 1, 0));
    const auto joined = [] {
        std::ifstream file("/proc/net/igmp");
        std::stringstream text;
        text << file.rdbuf();
        const auto begin = text.str().find("veth0");
        const auto end =
            text.str().find("\n\t", begin) == std::string::npos ? begin : text.str().find("veth1", begin);
        return text.str().substr(begin, end == std::string::npos ? end : end - begin).find("030201EF") !=
               std::string::npos;
    };
    EXPECT_FALSE(joined());
    {
        KernelMembership membership(port->if_index(), port->netdev());
        membership.want(parse_endpoints("239.1.2.3:7148").front());
        membership.join_all();
        EXPECT_TRUE(joined());
    }
    EXPECT_FALSE(joined());
}

TEST_F(AfPacketPort, AnAdministratorsPromiscuousModeSurvives) {
    ASSERT_TRUE(run("ip link set veth0 promisc on"));
    auto port = open_port(request("net_af_packet0,iface=veth0"));
    port->start();
    port->close();
    EXPECT_TRUE(netdev_facts("veth0")->promiscuous);
}

TEST_F(AfPacketPort, OpensStopsAndClosesManyTimes) {
    for (int round = 0; round < 10; ++round) {
        auto port = open_port(request("net_af_packet0,iface=veth0"));
        port->start();
        port->stop();
        port->start();
        const KernelSocket socket;
        socket.send(payload(1, 100));
        EXPECT_THAT(payloads(port->rx_queue(0), 1), ElementsAre(payload(1, 100))) << round;
        port->close();
        port->close();
        EXPECT_THAT(port->remarks(), IsEmpty());
    }
}

TEST_F(AfPacketPort, OneInterfaceIsOnePort) {
    auto port = open_port(request("net_af_packet0,iface=veth0"));
    EXPECT_EQ(error_of([] { open_port(request("net_af_packet1,iface=veth0")); }),
              "port p0: the network interface veth0 is already open as another port");
}

TEST_F(AfPacketPort, WrongRequestsAreRefusedWithTheReason) {
    const auto refuse = [](const std::string& device, std::uint32_t packet = 1472) {
        return error_of([&] { open_port(request(device, 1, 1, packet)); });
    };
    EXPECT_EQ(refuse("net_af_packet0"),
              "port p0: net_af_packet0 needs iface=NAME, for example net_af_packet0,iface=eth0");
    EXPECT_EQ(refuse("net_af_packet0,iface=veth9"),
              "port p0: there is no network interface \"veth9\"; `ip link` lists them");
    EXPECT_THAT(refuse("net_af_packet0,iface=a_name_that_is_too_long"),
                HasSubstr("there is no network interface"));
    EXPECT_EQ(
        refuse("net_af_packet0,iface=veth0,framesz=2048", 9000),
        "port p0: framesz=2048 of net_af_packet0 is too small: it holds received frames of 1982 bytes "
        "(2048 - 66) and "
        "sent frames of 2016 (2048 - 32), and 9050 and 9042 are needed; give framesz=12288, or leave it out");
    EXPECT_THAT(refuse("net_af_packet0,iface=veth0,framesz=2056"), HasSubstr("is not a multiple of 16"));
    EXPECT_THAT(refuse("net_af_packet0,iface=veth0,blocksz=6144"),
                HasSubstr("blocksz=6144 of net_af_packet0 is not a multiple of framesz=2048 and of the page "
                          "size 4096; give "
                          "blocksz=4096"));
    EXPECT_THAT(refuse("net_af_packet0,iface=veth0,framecnt=511"),
                HasSubstr("is not a multiple of blocksz / framesz"));
    EXPECT_THAT(refuse("net_af_packet0,iface=veth0,qpairs=17"), HasSubstr("is not a number from 1 to 16"));
    EXPECT_THAT(refuse("net_af_packet0,iface=veth0", 61400),
                HasSubstr("packets are too large for net_af_packet0"));
    ASSERT_TRUE(run("ip link set veth0 down"));
    EXPECT_EQ(refuse("net_af_packet0,iface=veth0"),
              "port p0: the network interface veth0 is down; run `ip link set veth0 up`");
}

TEST_F(AfPacketPort, AnMtuThatTheInterfaceCannotHaveIsRefusedAndNothingIsLeftChanged) {
    auto r = request("net_af_packet0,iface=veth0", 0, 1, 1472);
    r.mtu = 70000;
    EXPECT_THAT(error_of([&] { open_port(r); }), HasSubstr("veth0: its driver refuses an MTU of 70000"));
    EXPECT_EQ(mtu("veth0"), 1500U);
    EXPECT_EQ(open_port(request("net_af_packet0,iface=veth0"))->device_name(), "net_af_packet0");
}

TEST_F(AfPacketPort, MissingPrivilegesAreNamed) {
    const auto refusal = [](unsigned capability, std::uint32_t packet = 1472) {
        const WithoutCapability without(capability);
        return error_of([&] { open_port(request("net_af_packet0,iface=veth0", 1, 1, packet)); });
    };
    EXPECT_THAT(refusal(CAP_NET_RAW), HasSubstr("needs CAP_NET_RAW for its packet sockets"));
    EXPECT_THAT(refusal(CAP_NET_ADMIN), HasSubstr("needs CAP_NET_ADMIN to start on veth0"));
}

}  // namespace
}  // namespace spead::port::test
