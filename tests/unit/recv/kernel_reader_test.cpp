// SPDX-License-Identifier: BSD-3-Clause
#include "recv/kernel_reader.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "tests/support/keeping_child.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests the lane on sockets of the kernel, over loopback, in a process without EAL.
namespace spead::recv::test {
namespace {

using Fed = PacketReader::Fed;
using namespace std::chrono_literals;

LaneConfig config_of(const std::vector<Endpoint>& endpoints) {
    LaneConfig c = local_config();
    c.endpoints = endpoints;
    c.queue_heaps = 1024;
    c.window.max_live = 64;
    return c;
}

KernelSocket::Options on_loopback(bool gro = true) {
    KernelSocket::Options o;
    o.interface = "lo";
    o.buffer_size = std::size_t{1} << 20;
    o.gro = gro;
    o.where = "receive s0";
    return o;
}

class KernelReading : public testing::TestWithParam<bool> {};

TEST_P(KernelReading, ReceivesUnicastAndGroups) {
    const std::uint16_t port = free_port();
    const std::vector<Endpoint> endpoints = {{{kLoopback}, port, {}}, {{kGroup}, port, {}}};
    const LaneConfig config = config_of(endpoints);
    KernelReader reader(endpoints, on_loopback(GetParam()), config.max_packet_size);
    EXPECT_FALSE(reader.lossless());
    EXPECT_GT(reader.buffer_size(), 0U);
    FedLane rig(config);
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
    const UdpSender unicast(endpoints[0]);
    const UdpSender group(endpoints[1]);
    std::uint64_t sent = 0;
    for (std::uint64_t cnt = 1; cnt <= 200; cnt++) {
        for (const Bytes& d : MadeHeap{.cnt = cnt}.datagrams()) {
            (cnt % 2 == 0 ? unicast : group).send(d);
            sent++;
        }
        if (cnt % 20 == 0)
            rig.feed_until(reader, sent);
    }
    EXPECT_EQ(rig.whole, 200U);
    EXPECT_EQ(rig.lane.lane().endpoints[0].packets, 300U);
    EXPECT_EQ(rig.lane.lane().endpoints[1].packets, 300U);
    EXPECT_EQ(reader.lost(), 0U);
}

TEST_P(KernelReading, ReceivesIpv6BesideIpv4) {
    if (!std::ifstream("/proc/net/if_inet6"))
        GTEST_SKIP() << "the kernel has no IPv6";
    const std::uint16_t port = free_port();
    // Loopback has no route for groups of IPv6: they are only joined (tests/netns has them on a wire).
    std::vector<Endpoint> endpoints = {{{kLoopback}, port, {}}};
    for (const char* text : {"[::1]", "[ff15::4d01]", "[ff12::4d02]", "[ff15::4d03]@::1"})
        endpoints.push_back(parse_endpoints(text, port).front());
    constexpr std::size_t kSent = 2;
    const LaneConfig config = config_of(endpoints);
    KernelReader reader(endpoints, on_loopback(GetParam()), config.max_packet_size);
    FedLane rig(config);
    std::vector<UdpSender> senders;
    for (std::size_t i = 0; i < kSent; i++)
        senders.emplace_back(endpoints[i]);
    std::uint64_t sent = 0;
    for (std::uint64_t cnt = 1; cnt <= 200; cnt++) {
        for (const Bytes& d : MadeHeap{.cnt = cnt}.datagrams()) {
            senders[cnt % kSent].send(d);
            sent++;
        }
        if (cnt % 20 == 0)
            rig.feed_until(reader, sent);
    }
    EXPECT_EQ(rig.whole, 200U);
    for (std::size_t i = 0; i < kSent; i++)
        EXPECT_EQ(rig.lane.lane().endpoints[i].packets, 300U);
    EXPECT_EQ(rig.lane.counters()[PortOutcome::stream], sent);
    EXPECT_EQ(reader.lost(), 0U);
}

TEST(KernelReader, NeedsTheInterfaceOfALinkLocalAddress) {
    KernelSocket::Options nowhere = on_loopback();
    nowhere.interface.clear();
    for (const char* text : {"[ff12::4d02]:7148", "[fe80::1]:7148"})
        spead::test::expect_usage_error([&] { KernelReader(parse_endpoints(text), nowhere, 9200); },
                                        {"link-local", "name the interface"});
}

/// Gives the lane the places in the order of the endpoints.
void receive_on(DatagramLane& lane, const std::vector<Endpoint>& endpoints) {
    std::vector<DatagramLane::Place> places;
    for (const Endpoint& e : endpoints)
        places.push_back({e, static_cast<std::uint16_t>(places.size())});
    lane.receive(places);
}

TEST_P(KernelReading, ChangesItsSocketsAndGroups) {
    const std::uint16_t port = free_port();
    const Endpoint unicast{{kLoopback}, port, {}};
    const Endpoint group{{kGroup}, port, {}};
    const Endpoint of_two{{kGroup}, port, {0x7F000002}};
    const Endpoint of_three{{kGroup}, port, {0x7F000003}};
    const LaneConfig config = config_of({unicast});
    KernelReader reader({unicast}, on_loopback(GetParam()), config.max_packet_size);
    FedLane rig(config);
    const UdpSender direct(unicast);
    const UdpSender two(group, 0x7F000002);
    const UdpSender three(group, 0x7F000003);
    std::uint64_t sent = 0;
    // Returns how many of the three senders reach it. A datagram that is let in comes last.
    const auto who = [&](const Endpoint& sure) {
        const std::uint64_t before = rig.lane.lane().counters[PacketOutcome::placed];
        for (const UdpSender* const sender : {&direct, &two, &three})
            sender->send(MadeHeap{.cnt = ++sent, .length = 100}.datagrams()[0]);
        const UdpSender last(sure, sure.has_source() ? sure.source.v4().value : kLoopback);
        last.send(MadeHeap{.cnt = ++sent, .length = 100}.datagrams()[0]);
        for (int i = 0; i < 2000 && (rig.heaps.empty() || rig.heaps.back() != sent); i++) {
            rig.feed(reader);
            reader.wait(10ms);
        }
        return rig.lane.lane().counters[PacketOutcome::placed] - before - 1;
    };
    const auto change = [&](const std::vector<Endpoint>& to) {
        reader.receive(to);
        receive_on(rig.lane, to);
    };
    EXPECT_EQ(who(unicast), 1U);
    change({unicast, group});
    EXPECT_EQ(who(group), 3U);
    change({of_two, unicast});
    EXPECT_EQ(who(of_two), 2U);
    change({of_two, of_three});
    EXPECT_EQ(who(of_three), 2U);
    // Nobody has this address: nothing changes.
    spead::test::expect_passing_error(
        [&] {
            reader.receive({of_two, group, {{0x01010101}, port, {}}});
        },
        {"1.1.1.1"});
    EXPECT_EQ(who(of_two), 2U);
    change({of_three});
    EXPECT_EQ(who(of_three), 1U);
    change({unicast});
    EXPECT_EQ(who(unicast), 1U);
    EXPECT_EQ(reader.lost(), 0U);
}

TEST_P(KernelReading, CountsDatagramsThatAreTooLongOrEmpty) {
    const std::vector<Endpoint> endpoints = {{{kLoopback}, free_port(), {}}};
    LaneConfig config = config_of(endpoints);
    config.max_packet_size = 1000;
    KernelReader reader(endpoints, on_loopback(GetParam()), config.max_packet_size);
    FedLane rig(config);
    const UdpSender sender(endpoints[0]);
    for (const std::size_t length : {0U, 1U, 1000U, 1001U, 1002U, 65507U})
        sender.send(Bytes(length));
    rig.feed_until(reader, 6);
    EXPECT_EQ(rig.packets(PacketOutcome::malformed), 3U);
    EXPECT_EQ(rig.packets(PacketOutcome::oversize), 3U);
}

TEST_P(KernelReading, ReceivesTheLongestDatagram) {
    const std::vector<Endpoint> endpoints = {{{kLoopback}, free_port(), {}}};
    LaneConfig config = config_of(endpoints);
    config.max_packet_size = wire::kMaxUdpPayload;
    KernelReader reader(endpoints, on_loopback(GetParam()), config.max_packet_size);
    FedLane rig(config);
    const std::size_t length = wire::kMaxUdpPayload - 40;
    UdpSender(endpoints[0]).send(MadeHeap{.cnt = 1, .length = length, .packet = length}.datagrams()[0]);
    rig.feed_until(reader, 1);
    EXPECT_EQ(rig.whole, 1U);
}

TEST_P(KernelReading, CountsWhatTheKernelDrops) {
    const std::vector<Endpoint> endpoints = {{{kLoopback}, free_port(), {}}};
    const LaneConfig config = config_of(endpoints);
    KernelSocket::Options options = on_loopback(GetParam());
    options.buffer_size = 65536;
    KernelReader reader(endpoints, options, config.max_packet_size);
    FedLane rig(config);
    const UdpSender sender(endpoints[0]);
    const std::uint64_t sent = 3000;
    for (const Bytes& d : many_datagrams(1000))
        sender.send(d);
    // All others are in the socket: loopback delivers within the sender's call.
    while (rig.feed(reader) != Fed::nothing) {
    }
    EXPECT_GT(reader.lost(), 0U);
    EXPECT_EQ(rig.received() + reader.lost(), sent);
    EXPECT_EQ(reader.lost() + rig.received(), sent) << "asked twice";
}

INSTANTIATE_TEST_SUITE_P(Offload, KernelReading, testing::Bool(),
                         [](const auto& of) { return of.param ? "Gro" : "OneByOne"; });

TEST(KernelReader, SplitsTheSegmentsThatTheKernelGivesAtOnce) {
    const std::vector<Endpoint> endpoints = {{{kLoopback}, free_port(), {}}};
    const LaneConfig config = config_of(endpoints);
    KernelReader reader(endpoints, on_loopback(), config.max_packet_size);
    FedLane rig(config);
    const UdpSender sender(endpoints[0]);
    // 20 heaps of two packets, all but the last of which have the same length.
    Bytes all;
    int segment = 0;
    std::uint64_t packets = 0;
    for (std::uint64_t cnt = 1; cnt <= 20; cnt++)
        for (const Bytes& d : MadeHeap{.cnt = cnt, .length = cnt == 20 ? 700U : 800U}.datagrams()) {
            segment = std::max(segment, static_cast<int>(d.size()));
            all.insert(all.end(), d.begin(), d.end());
            packets++;
        }
    if (!sender.send_segments(all, segment))
        GTEST_SKIP() << "this kernel cannot send segments (UDP_SEGMENT, Linux 4.18)";
    rig.feed_until(reader, packets);
    EXPECT_EQ(rig.whole, 20U);
    EXPECT_GT(rig.lane.counters().multi_segment, 0U) << "the kernel gave them one by one";
}

TEST(KernelReader, ReceivesOnlyTheNamedSourcesOfAGroup) {
    const std::uint16_t port = free_port();
    const std::vector<Endpoint> endpoints = {{{kGroup + 1}, port, {kLoopback + 1}},
                                             {{kGroup + 1}, port, {kLoopback + 2}}};
    const LaneConfig config = config_of(endpoints);
    KernelReader reader(endpoints, on_loopback(), config.max_packet_size);
    FedLane rig(config);
    for (std::uint32_t i = 1; i <= 3; i++)
        UdpSender({{kGroup + 1}, port, {}}, kLoopback + i)
            .send(MadeHeap{.cnt = i, .length = 100}.datagrams()[0]);
    rig.feed_until(reader, 2);
    EXPECT_EQ(rig.heaps, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(rig.lane.lane().endpoints[1].packets, 1U);
}

TEST(KernelReader, ReceivesNoGroupThatOnlyOthersJoined) {
    const std::uint16_t port = free_port();
    const std::vector<Endpoint> mine = {{{kGroup + 2}, port, {}}};
    const std::vector<Endpoint> theirs = {{{kGroup + 3}, port, {}}};
    KernelReader reader(mine, on_loopback(), 9200);
    KernelReader other(theirs, on_loopback(), 9200);
    FedLane rig(config_of(mine));
    UdpSender(theirs[0]).send(MadeHeap{.cnt = 1, .length = 100}.datagrams()[0]);
    UdpSender(mine[0]).send(MadeHeap{.cnt = 2, .length = 100}.datagrams()[0]);
    rig.feed_until(reader, 1);
    EXPECT_EQ(rig.heaps, std::vector<std::uint64_t>{2});
}

/// Returns whether the kernel has joined the group on some interface.
bool has_joined(std::uint32_t group) {
    std::ifstream file("/proc/net/igmp");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return text.find(fmt::format("{:08X}", byte_swap(group))) != std::string::npos;
}

TEST(KernelReader, ClosesSocketsThatAChildProcessKeeps) {
    const std::uint16_t port = free_port();
    const Endpoint unicast{{kLoopback}, port, {}};
    const Endpoint group{{kGroup + 6}, port, {}};
    const Endpoint stays{{kGroup + 7}, port, {}};
    const LaneConfig config = config_of({unicast, group, stays});
    KernelReader reader({unicast, group, stays}, on_loopback(), config.max_packet_size);
    FedLane rig(config);
    const spead::test::KeepingChild child;
    EXPECT_TRUE(has_joined(group.address.v4().value));
    reader.receive({stays});
    EXPECT_FALSE(has_joined(group.address.v4().value));
    EXPECT_TRUE(has_joined(stays.address.v4().value));
    UdpSender(unicast).send(MadeHeap{.cnt = 1, .length = 100}.datagrams()[0]);
    UdpSender(group).send(MadeHeap{.cnt = 2, .length = 100}.datagrams()[0]);
    UdpSender(stays).send(MadeHeap{.cnt = 3, .length = 100}.datagrams()[0]);
    rig.feed_until(reader, 1);
    EXPECT_EQ(rig.heaps, std::vector<std::uint64_t>{3});
    // Nothing is left that would end a wait at once.
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
}

TEST(KernelReader, WaitsForPacketsAndCanBeWoken) {
    const std::vector<Endpoint> endpoints = {{{kLoopback}, free_port(), {}}};
    KernelReader reader(endpoints, on_loopback(), 9200);
    FedLane rig(config_of(endpoints));
    std::thread sender([&] { UdpSender(endpoints[0]).send(MadeHeap{.length = 100}.datagrams()[0]); });
    reader.wait(1h);
    rig.feed_until(reader, 1);
    sender.join();
    std::thread waker([&] { reader.wake(); });
    reader.wait(1h);
    reader.wait(1h);
    waker.join();
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
}

TEST(KernelReader, IsNotWokenByASocketThatWasShutDown) {
    const Endpoint place{{kLoopback}, 7148, {}};
    const FileDescriptor users(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    KernelReader reader(FileDescriptor(::dup(users.get())), place, on_loopback(), 9200);
    FedLane rig(config_of({place}));
    ::shutdown(users.get(), SHUT_RD);
    pollfd p{reader.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 10'000), 1);
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
    EXPECT_EQ(::poll(&p, 1, 0), 0);
}

TEST(KernelReader, IsNotWokenByErrorsThatASocketKeeps) {
    const FileDescriptor users(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ASSERT_EQ(::setsockopt(users.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof on), 0);
    const Endpoint place{{kLoopback}, free_port(), {}};
    KernelReader reader(FileDescriptor(::dup(users.get())), place, on_loopback(), 9200);
    FedLane rig(config_of({place}));
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    nobody.sin_addr.s_addr = byte_swap(std::uint32_t{kLoopback});
    nobody.sin_port = byte_swap(free_port());
    for (int i = 0; i < 3; i++)
        ::sendto(users.get(), "", 1, 0, reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody);
    pollfd p{reader.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 10'000), 1) << "no ICMP message came";
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
    EXPECT_EQ(::poll(&p, 1, 0), 0);
}

TEST(KernelReader, RefusesWhatCannotBeReceived) {
    const Endpoint nowhere{{0x01010101}, 7148, {}};
    spead::test::expect_passing_error([&] { KernelReader({nowhere}, on_loopback(), 9200); },
                                      {"receive s0", "1.1.1.1:7148", "ip address"});
    const Endpoint place{{kLoopback}, free_port(), {}};
    const KernelReader first({place}, on_loopback(), 9200);
    spead::test::expect_passing_error([&] { KernelReader({place}, on_loopback(), 9200); }, {"ss -lunp"});
    KernelSocket::Options options = on_loopback();
    options.interface = "no-such-interface";
    spead::test::expect_passing_error(
        [&] {
            KernelReader({{{kGroup}, 7148, {}}}, options, 9200);
        },
        {"no-such-interface", "ip address"});
    options.interface = "127.0.0.1";
    EXPECT_NO_THROW(KernelReader({{{kGroup}, 7148, {}}}, options, 9200));
}

}  // namespace
}  // namespace spead::recv::test
