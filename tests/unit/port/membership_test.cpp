// SPDX-License-Identifier: BSD-3-Clause
#include "port/membership.hpp"

#include <cctype>
#include <cerrno>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"

namespace spead::port {
namespace {

using spead::test::error_of;
using std::chrono::milliseconds;
using testing::HasSubstr;

// Groups that nobody else on this machine joins on its loopback interface.
Endpoint group(unsigned n) {
    return parse_endpoints(fmt::format("239.211.{}.{}:7148", n / 250, n % 250 + 1)).front();
}
Endpoint from(const Endpoint& endpoint, const std::string& source) {
    Endpoint specific = endpoint;
    specific.source = parse_ipv4(source);
    return specific;
}

/// Returns the groups joined on the loopback interface, from /proc/net/igmp: "1: lo : ..." and below it the
/// groups. Each group is the hexadecimal number that its bytes make in memory.
std::set<IpAddress> groups_joined() {
    std::ifstream file("/proc/net/igmp");
    std::set<IpAddress> groups;
    bool loopback = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (std::isdigit(static_cast<unsigned char>(line.front())) != 0) {
            std::string name;
            words >> name;
            loopback = name == "lo";
        } else if (loopback && first.size() == 8) {
            groups.insert(
                Ipv4{__builtin_bswap32(static_cast<std::uint32_t>(std::stoul(first, nullptr, 16)))});
        }
    }
    return groups;
}

/// Returns the IPv6 groups joined on the loopback interface, from /proc/net/igmp6: "1 lo ff15...".
std::set<IpAddress> groups_joined6() {
    std::ifstream file("/proc/net/igmp6");
    std::set<IpAddress> groups;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string index, name, group;
        words >> index >> name >> group;
        if (name == "lo" && group.size() == 32)
            groups.insert(Ipv6{std::stoull(group.substr(0, 16), nullptr, 16),
                               std::stoull(group.substr(16), nullptr, 16)});
    }
    return groups;
}

/// Returns "group source" of the sources included on the loopback interface, from /proc/net/mcfilter.
std::set<std::string> sources_joined() {
    std::ifstream file("/proc/net/mcfilter");
    std::set<std::string> sources;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string index, name, joined, source, included;
        words >> index >> name >> joined >> source >> included;
        if (name == "lo" && included != "0") {
            const auto text = [](const std::string& hex) {
                return to_string(Ipv4{static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16))});
            };
            sources.insert(text(joined) + " " + text(source));
        }
    }
    return sources;
}

class Membership : public testing::Test {
  protected:
    void SetUp() override {
        index_ = ::if_nametoindex("lo");
        if (index_ == 0 || !std::ifstream("/proc/net/igmp")) {
            GTEST_SKIP() << "there is no loopback interface, or no /proc/net/igmp";
        }
    }
    unsigned index_ = 0;
};

TEST_F(Membership, JoinsWhatIsWantedAndLeavesItWhenDestroyed) {
    {
        KernelMembership membership(index_, "lo");
        membership.want(group(1));
        membership.want(group(2));
        membership.join_all();
        EXPECT_EQ(membership.joined(), 2U);
        EXPECT_TRUE(groups_joined().contains(group(1).address));
        EXPECT_TRUE(groups_joined().contains(group(2).address));
    }
    EXPECT_FALSE(groups_joined().contains(group(1).address));
    EXPECT_FALSE(groups_joined().contains(group(2).address));
}

TEST_F(Membership, JoinsGroupsOfBothFamiliesAndSourcesOfIpv6) {
    if (!std::ifstream("/proc/net/igmp6"))
        GTEST_SKIP() << "the kernel has no IPv6";
    const std::vector<Endpoint> six = parse_endpoints("[ff15::4d01]+1:7148");
    const Endpoint specific = parse_endpoints("[ff15::4d01]:7148@fd00::7").front();
    {
        KernelMembership membership(index_, "lo");
        membership.want(six[0]);
        membership.want(group(1));
        membership.want(six[1]);
        membership.want(specific);  // beside any source: on a socket of its own
        membership.join_all();
        EXPECT_EQ(membership.joined(), 4U);
        EXPECT_EQ(membership.sockets(), 3U);
        EXPECT_TRUE(groups_joined().contains(group(1).address));
        EXPECT_TRUE(groups_joined6().contains(six[0].address));
        EXPECT_TRUE(groups_joined6().contains(six[1].address));
        membership.leave(six[0]);
        EXPECT_TRUE(groups_joined6().contains(six[0].address)) << "its source is still wanted";
        membership.leave(specific);
        EXPECT_FALSE(groups_joined6().contains(six[0].address));
    }
    EXPECT_FALSE(groups_joined6().contains(six[1].address));
}

TEST_F(Membership, JoinsMoreGroupsThanTheKernelAllowsOnOneSocket) {
    KernelMembership membership(index_, "lo");
    for (unsigned n = 0; n < 100; ++n) {
        membership.want(group(n));
    }
    membership.join_all();
    const auto joined = groups_joined();
    for (unsigned n = 0; n < 100; ++n) {
        EXPECT_TRUE(joined.contains(group(n).address)) << n;
    }
    EXPECT_GT(membership.sockets(), 1U);
    EXPECT_EQ(membership.joined(), 100U);
}

TEST_F(Membership, AGroupWantedTwiceIsLeftWithTheLastOfThem) {
    KernelMembership membership(index_, "lo");
    Endpoint other_port = group(1);
    other_port.port = 7149;
    membership.want(group(1));
    membership.want(other_port);
    membership.join_all();
    EXPECT_EQ(membership.joined(), 1U);
    membership.leave(group(1));
    EXPECT_TRUE(groups_joined().contains(group(1).address));
    membership.leave(other_port);
    EXPECT_FALSE(groups_joined().contains(group(1).address));
    EXPECT_EQ(membership.sockets(), 0U);
    membership.leave(other_port);
}

TEST_F(Membership, LeavingAGroupKeepsTheOthersOfItsSocket) {
    KernelMembership membership(index_, "lo");
    membership.want(group(1));
    membership.want(group(2));
    membership.join_all();
    ASSERT_EQ(membership.sockets(), 1U);
    membership.leave(group(1));
    EXPECT_FALSE(groups_joined().contains(group(1).address));
    EXPECT_TRUE(groups_joined().contains(group(2).address));
}

TEST_F(Membership, SourceSpecificJoinsIncludeTheirSourcesOnly) {
    KernelMembership membership(index_, "lo");
    membership.want(from(group(1), "10.0.0.7"));
    membership.want(from(group(1), "10.0.0.8"));
    membership.join_all();
    const auto address = to_string(group(1).address);
    EXPECT_TRUE(sources_joined().contains(address + " 10.0.0.7"));
    EXPECT_TRUE(sources_joined().contains(address + " 10.0.0.8"));
    membership.leave(from(group(1), "10.0.0.7"));
    EXPECT_FALSE(sources_joined().contains(address + " 10.0.0.7"));
    EXPECT_TRUE(sources_joined().contains(address + " 10.0.0.8"));
}

TEST_F(Membership, ManySourcesOfOneGroupTakeSeveralSockets) {
    KernelMembership membership(index_, "lo");
    for (int n = 0; n < 30; ++n) {
        membership.want(from(group(1), fmt::format("10.0.1.{}", n)));
    }
    membership.join_all();
    EXPECT_EQ(membership.joined(), 30U);
    EXPECT_GT(membership.sockets(), 1U);
    for (int n = 0; n < 30; ++n) {
        EXPECT_TRUE(sources_joined().contains(to_string(group(1).address) + fmt::format(" 10.0.1.{}", n)))
            << n;
    }
}

TEST_F(Membership, AGroupWantedFromEverybodyAndFromASourceStaysJoinedFromEverybody) {
    KernelMembership membership(index_, "lo");
    membership.want(group(1));
    membership.want(from(group(1), "10.0.0.7"));
    membership.join_all();
    EXPECT_EQ(membership.sockets(), 2U);
    EXPECT_TRUE(groups_joined().contains(group(1).address));
    membership.leave(from(group(1), "10.0.0.7"));
    EXPECT_TRUE(groups_joined().contains(group(1).address));
}

TEST_F(Membership, JoinsArePacedAndIdleTimeGivesNoMoreThanABurst) {
    KernelMembership membership(index_, "lo");
    for (unsigned n = 0; n < 50; ++n) {
        membership.want(group(n));
    }
    const auto start = KernelMembership::Clock::now();
    EXPECT_FALSE(membership.step(start));
    EXPECT_EQ(membership.joined(), 16U);
    EXPECT_FALSE(membership.step(start));
    EXPECT_EQ(membership.joined(), 16U);
    EXPECT_FALSE(membership.step(start + milliseconds{3}));
    EXPECT_EQ(membership.joined(), 19U);
    EXPECT_FALSE(membership.step(start + milliseconds{1000}));
    EXPECT_EQ(membership.joined(), 35U);
    EXPECT_EQ(membership.pending(), 15U);
    EXPECT_TRUE(membership.step(start + milliseconds{2000}));
    EXPECT_EQ(membership.joined(), 50U);
}

TEST_F(Membership, WhatIsLeftBeforeItWasJoinedIsNeverJoined) {
    KernelMembership membership(index_, "lo");
    membership.want(group(1));
    membership.leave(group(1));
    EXPECT_TRUE(membership.step(KernelMembership::Clock::now()));
    EXPECT_EQ(membership.joined(), 0U);
}

TEST_F(Membership, UnicastEndpointsNeedNoMembershipButASocket) {
    KernelMembership membership(index_, "lo");
    const Endpoint foreign = parse_endpoints("192.0.2.77:7148").front();
    membership.want(foreign);
    EXPECT_EQ(membership.pending(), 0U);
    EXPECT_EQ(membership.unicast().sockets(), 1U) << "the machine may get the address later";
    const Endpoint own = parse_endpoints("127.0.0.1:47148").front();
    membership.want(own);
    membership.want(from(own, "127.0.0.9"));
    EXPECT_EQ(membership.pending(), 0U);
    EXPECT_EQ(membership.unicast().sockets(), 2U);
    membership.leave(own);
    EXPECT_EQ(membership.unicast().sockets(), 2U);
    membership.leave(own);
    EXPECT_EQ(membership.unicast().sockets(), 1U);
    membership.leave(own);
    membership.leave(foreign);
    EXPECT_EQ(membership.unicast().sockets(), 0U);
}

/// Sends to the endpoint from a connected socket. Returns 0, or the ECONNREFUSED that comes back. Over the
/// loopback interface the answer is there when the call returns.
int answer_to(const Endpoint& endpoint) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    to.sin_addr.s_addr = htonl(endpoint.address.v4().value);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(fd, "heap", 4, 0), 4);
    int error = -1;
    socklen_t length = sizeof error;
    EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    ::close(fd);
    return error;
}

TEST_F(Membership, TheKernelDoesNotRefusePacketsToAUnicastEndpoint) {
    const Endpoint endpoint = parse_endpoints("127.0.0.1:47148").front();
    KernelMembership membership(index_, "lo");
    ASSERT_EQ(answer_to(endpoint), ECONNREFUSED) << "nobody listens there";
    membership.want(endpoint);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(answer_to(endpoint), 0);
    membership.leave(endpoint);
    EXPECT_EQ(answer_to(endpoint), ECONNREFUSED);
}

TEST_F(Membership, AUnicastEndpointThatAnotherSocketHasIsLeftToIt) {
    const Endpoint endpoint = parse_endpoints("127.0.0.1:47149").front();
    KernelMembership first(index_, "lo");
    first.want(endpoint);
    KernelMembership second(index_, "lo");
    second.want(endpoint);
    EXPECT_EQ(first.unicast().sockets(), 1U);
    EXPECT_EQ(second.unicast().sockets(), 0U);
}

TEST_F(Membership, ErrorsNameTheInterfaceTheGroupAndTheRemedy) {
    EXPECT_EQ(error_of([] { const KernelMembership membership(0, "net_ring0"); }),
              "net_ring0: groups can only be joined on a network interface of the kernel");
    KernelMembership gone(999999, "gone0");
    gone.want(group(1));
    EXPECT_THAT(error_of([&] { gone.join_all(); }), HasSubstr("gone0: cannot join 239.211.0.2"));

    KernelMembership membership(index_, "lo");
    membership.want(group(1));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto text = error_of([&] { membership.join_all(); });
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_THAT(text, HasSubstr("raise `ulimit -n`"));
}

}  // namespace
}  // namespace spead::port
