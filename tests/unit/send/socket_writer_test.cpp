// SPDX-License-Identifier: BSD-3-Clause
#include "send/socket_writer.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"

namespace spead::send {
namespace {

using namespace std::chrono_literals;

/// Holds a socket of loopback with room for all that a test sends.
struct Place {
    explicit Place(const char* own = "127.0.0.1")
        : endpoint{parse_ip(own), 0, {}},
          fd(::socket(family_of(endpoint.address), SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        SocketAddress address = socket_address(endpoint.address, 0);
        EXPECT_EQ(::bind(fd.get(), address.get(), address.length), 0);
        EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length), 0);
        // At the same place for both families.
        std::uint16_t port = 0;
        std::memcpy(&port, &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port, sizeof port);
        endpoint.port = ntohs(port);
    }
    std::vector<std::string> take(std::size_t n) const {
        std::vector<std::string> all;
        pollfd p{fd.get(), POLLIN, 0};
        while (all.size() < n && ::poll(&p, 1, 20'000) == 1) {
            std::string packet(65536, 0);
            packet.resize(static_cast<std::size_t>(::recv(fd.get(), packet.data(), packet.size(), 0)));
            all.push_back(std::move(packet));
        }
        return all;
    }

    /// Makes the kernel say how a packet came (IP_RECVTTL and the like).
    void ask(int level, int option) const {
        const int on = 1;
        EXPECT_EQ(::setsockopt(fd.get(), level, option, &on, sizeof on), 0);
    }
    /// Takes a packet. Returns what the kernel says of it, by type.
    std::map<int, int> take_facts() const {
        std::array<char, 64> bytes{};
        alignas(cmsghdr) std::array<char, 256> control{};
        iovec part{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        EXPECT_GT(::recvmsg(fd.get(), &message, 0), 0);
        std::map<int, int> facts;
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            int value = 0;
            std::memcpy(&value, CMSG_DATA(c), std::min(sizeof value, c->cmsg_len - CMSG_LEN(0)));
            facts[c->cmsg_type] = value;
        }
        return facts;
    }

    Endpoint endpoint;
    FileDescriptor fd;
};

/// Makes bursts of packets in two parts.
struct Burst {
    void add(std::size_t bytes, std::uint32_t substream = 0) {
        texts.emplace_back(bytes, static_cast<char>('a' + texts.size() % 26));
        substreams.push_back(substream);
    }
    std::span<const Datagram> datagrams() {
        for (std::string& text : texts) {
            parts.push_back({text.data(), 8});
            parts.push_back({text.data() + 8, text.size() - 8});
        }
        for (std::size_t i = 0; i < texts.size(); i++)
            all.push_back({&parts[2 * i], 2, static_cast<std::uint32_t>(texts[i].size()), substreams[i]});
        return all;
    }
    std::vector<std::string> of(std::uint32_t substream) const {
        std::vector<std::string> some;
        for (std::size_t i = 0; i < texts.size(); i++)
            if (substreams[i] == substream)
                some.push_back(texts[i]);
        return some;
    }

    std::deque<std::string> texts;
    std::vector<std::uint32_t> substreams;
    std::vector<iovec> parts;
    std::vector<Datagram> all;
};

/// Sends to loopback's address of one IP version.
class SocketWriterTo : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (parse_ip(GetParam()).is_v6() && !std::ifstream("/proc/net/if_inet6"))
            GTEST_SKIP() << "the kernel has no IPv6";
    }
};
INSTANTIATE_TEST_SUITE_P(Loopback, SocketWriterTo, testing::Values("127.0.0.1", "::1"));

TEST_P(SocketWriterTo, KeepsPacketsApartJoinedOrNot) {
    for (const bool segmentation : {true, false}) {
        const Place zero(GetParam()), one(GetParam());
        SocketWriter writer({zero.endpoint, one.endpoint}, {"lo", 1, 0, "x"});
        writer.set_segmentation(segmentation);
        Burst burst;
        for (const std::size_t bytes : {100, 100, 100, 60, 100, 200, 200, 9})
            burst.add(bytes);
        for (int i = 0; i < 50; i++)
            burst.add(1400, static_cast<std::uint32_t>(i < 5));
        const PacketWriter::Written written = writer.write(burst.datagrams());
        EXPECT_EQ(written.packets, 58U);
        EXPECT_EQ(written.error, 0);
        EXPECT_FALSE(written.no_room);
        EXPECT_EQ(zero.take(burst.of(0).size()), burst.of(0));
        EXPECT_EQ(one.take(burst.of(1).size()), burst.of(1));
    }
}

TEST_P(SocketWriterTo, SendsPacketsThatTheKernelCannotCut) {
    // Above the MTU of loopback's segments: each packet is fragmented by itself.
    const Place place(GetParam());
    SocketWriter writer({place.endpoint}, {"", 1, 0, "x"});
    Burst burst;
    burst.add(32'000);
    burst.add(32'000);
    EXPECT_EQ(writer.write(burst.datagrams()).packets, 2U);
    EXPECT_EQ(place.take(2), burst.of(0));
}

TEST_P(SocketWriterTo, GivesPacketsTheirTtlAndDscp) {
    const Place place(GetParam());
    const bool six = place.endpoint.address.is_v6();
    place.ask(six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVHOPLIMIT : IP_RECVTTL);
    place.ask(six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVTCLASS : IP_RECVTOS);
    SocketWriter writer({place.endpoint}, {"lo", 7, 46, "x"});
    for (const std::uint8_t ttl : {std::uint8_t{7}, std::uint8_t{9}}) {
        writer.set_ttl(ttl);
        Burst burst;
        burst.add(20);
        EXPECT_EQ(writer.write(burst.datagrams()).packets, 1U);
        const std::map<int, int> facts = place.take_facts();
        EXPECT_EQ(facts.at(six ? IPV6_HOPLIMIT : IP_TTL), ttl);
        EXPECT_EQ(facts.at(six ? IPV6_TCLASS : IP_TOS), 46 << 2);
    }
}

TEST(SocketWriter, WantsOneIpVersionAndTheInterfaceOfALinkLocalAddress) {
    const auto make = [](const char* endpoints, const char* interface) {
        const SocketWriter writer(parse_endpoints(endpoints), {interface, 1, 0, "send s"});
    };
    spead::test::expect_usage_error(
        [&] {
            std::vector<Endpoint> both = parse_endpoints("239.1.2.3:7148");
            both.push_back(parse_endpoints("[ff15::1]:7148").front());
            const SocketWriter writer(both, {"", 1, 0, "send s"});
        },
        {"send s", "[ff15::1]:7148", "239.1.2.3:7148", "a sender of its own"});
    for (const char* text : {"[ff12::1]:7148", "[fe80::1]:7148"})
        spead::test::expect_usage_error([&] { make(text, ""); }, {text, "link-local", "name the interface"});
    if (std::ifstream("/proc/net/if_inet6"))
        make("[ff12::1]:7148", "lo");
}

TEST(SocketWriter, TellsThatThereIsNoRoom) {
    // A full buffer: loopback gives it back only when the receiver's socket has taken or dropped the packet,
    // so a closed pipe is used.
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const FileDescriptor other(ends[1]);
    SocketAddress nowhere;
    nowhere.storage.ss_family = AF_UNIX;
    SocketWriter writer(FileDescriptor(ends[0]), {nowhere}, "x");
    writer.set_segmentation(false);
    std::size_t sent = 0;
    PacketWriter::Written written;
    for (int i = 0; i < 1000 && !written.no_room && written.error == 0; i++) {
        Burst burst;
        for (int k = 0; k < 50; k++)
            burst.add(1400);
        written = writer.write(burst.datagrams());
        sent += written.packets;
    }
    EXPECT_TRUE(written.no_room) << written.error;
    EXPECT_GT(sent, 0U);
    const auto begin = std::chrono::steady_clock::now();
    writer.wait(-1, 1ms);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 1ms);
}

TEST(SocketWriter, RefusesWhatIsNoSocket) {
    const Place place;
    EXPECT_THROW(
        SocketWriter(FileDescriptor(), {socket_address(place.endpoint.address, place.endpoint.port)}, "x"),
        Error);
    EXPECT_THROW(SocketWriter(FileDescriptor(::socket(AF_INET, SOCK_STREAM, 0)),
                              {socket_address(place.endpoint.address, place.endpoint.port)}, "x"),
                 Error);
    EXPECT_THROW(SocketWriter(FileDescriptor(::socket(AF_INET6, SOCK_DGRAM, 0)),
                              {socket_address(place.endpoint.address, place.endpoint.port)}, "x"),
                 Error);
    EXPECT_THROW(SocketWriter({place.endpoint}, {"no-such-interface", 1, 0, "x"}), Error);
    SocketWriter writer({place.endpoint}, {"127.0.0.1", 1, 0, "x"});
    writer.set_ttl(5);
    Burst burst;
    burst.add(70'000);
    EXPECT_EQ(writer.write(burst.datagrams()).error, EMSGSIZE);
}

}  // namespace
}  // namespace spead::send
