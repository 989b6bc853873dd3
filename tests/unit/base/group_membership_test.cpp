// SPDX-License-Identifier: BSD-3-Clause
#include "base/group_membership.hpp"

#include <cerrno>
#include <fstream>
#include <net/if.h>
#include <netinet/in.h>
#include <string>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "base/socket_address.hpp"

namespace spead {
namespace {

constexpr std::uint16_t kPort = 27148;

FileDescriptor datagram_socket(int family) {
    return FileDescriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

struct Family {
    std::string name;
    int family;
    IpAddress group;
    IpAddress source;
};

/// Asks the kernel itself. Loopback has no route for groups of IPv6: tests/netns has their packets.
class GroupMembershipCalls : public testing::TestWithParam<Family> {
  protected:
    void SetUp() override {
        if (GetParam().family == AF_INET6 && !std::ifstream("/proc/net/if_inet6"))
            GTEST_SKIP() << "the kernel has no IPv6";
        ASSERT_TRUE(fd_);
    }
    int change(GroupChange change, const IpAddress& source) const {
        return change_group(fd_.get(), change, GetParam().group, source, lo_);
    }

    const FileDescriptor fd_ = datagram_socket(GetParam().family);
    const unsigned lo_ = ::if_nametoindex("lo");
};

TEST_P(GroupMembershipCalls, JoinsAndLeavesOnce) {
    for (const IpAddress& source : {IpAddress{}, GetParam().source}) {
        EXPECT_EQ(change(GroupChange::join, source), 0);
        EXPECT_EQ(change(GroupChange::join, source), source == IpAddress{} ? EADDRINUSE : EADDRNOTAVAIL);
        EXPECT_EQ(change(GroupChange::leave, source), 0);
        EXPECT_NE(change(GroupChange::leave, source), 0);
    }
}

TEST_P(GroupMembershipCalls, ReturnTheErrorOfTheKernel) {
    EXPECT_EQ(change_group(-1, GroupChange::join, GetParam().group, {}, lo_), EBADF);
    EXPECT_EQ(change_group(fd_.get(), GroupChange::join, GetParam().group, {}, 0x7FFFFFFF), ENODEV);
    EXPECT_EQ(hear_own_groups(-1, GetParam().family), EBADF);
    EXPECT_EQ(hear_own_groups(fd_.get(), GetParam().family), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Families, GroupMembershipCalls,
    testing::Values(Family{"IPv4", AF_INET, parse_ip("239.99.1.7"), parse_ip("127.0.0.9")},
                    Family{"IPv6", AF_INET6, parse_ip("ff15::99:7"), parse_ip("2001:db8::9")}),
    [](const auto& its) { return its.param.name; });

/// Has a sender and a member of a group on loopback.
class GroupMembershipPackets : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(is_bound(member_));
        const SocketAddress from = socket_address(own_, 0);
        const in_addr own{htonl(INADDR_LOOPBACK)};
        ASSERT_EQ(::bind(sender_.get(), from.get(), from.length), 0);
        ASSERT_EQ(::setsockopt(sender_.get(), IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof own), 0);
        ASSERT_EQ(hear_own_groups(member_.get(), AF_INET), 0);
    }
    static bool is_bound(const FileDescriptor& fd) {
        const int on = 1;
        const SocketAddress any = socket_address({}, kPort);
        return ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
               ::bind(fd.get(), any.get(), any.length) == 0;
    }
    int change(const FileDescriptor& fd, GroupChange change, const IpAddress& source = {}) const {
        return change_group(fd.get(), change, group_, source, ::if_nametoindex("lo"));
    }
    void send() const {
        const SocketAddress to = socket_address(group_, kPort);
        ASSERT_EQ(::sendto(sender_.get(), "x", 1, 0, to.get(), to.length), 1);
    }
    /// Takes one datagram. Loopback has delivered it by the time that it was sent.
    static bool has_heard(const FileDescriptor& fd) {
        char byte = 0;
        return ::recv(fd.get(), &byte, 1, 0) == 1;
    }

    const IpAddress group_ = parse_ip("239.99.1.8");
    const IpAddress own_ = parse_ip("127.0.0.1");
    const FileDescriptor member_ = datagram_socket(AF_INET);
    const FileDescriptor sender_ = datagram_socket(AF_INET);
};

TEST_F(GroupMembershipPackets, ComeWhileTheGroupIsJoined) {
    send();
    EXPECT_FALSE(has_heard(member_));
    ASSERT_EQ(change(member_, GroupChange::join), 0);
    send();
    EXPECT_TRUE(has_heard(member_));
    ASSERT_EQ(change(member_, GroupChange::leave), 0);
    send();
    EXPECT_FALSE(has_heard(member_));
}

TEST_F(GroupMembershipPackets, ComeFromTheNamedSourceAlone) {
    ASSERT_EQ(change(member_, GroupChange::join, parse_ip("127.0.0.9")), 0);
    send();
    EXPECT_FALSE(has_heard(member_));
    ASSERT_EQ(change(member_, GroupChange::join, own_), 0);
    send();
    EXPECT_TRUE(has_heard(member_));
    ASSERT_EQ(change(member_, GroupChange::leave, own_), 0);
    send();
    EXPECT_FALSE(has_heard(member_));
}

TEST_F(GroupMembershipPackets, OfTheGroupsOfOthersStayAway) {
    const FileDescriptor other = datagram_socket(AF_INET);
    ASSERT_TRUE(is_bound(other));
    ASSERT_EQ(change(other, GroupChange::join), 0);
    send();
    EXPECT_TRUE(has_heard(other));
    EXPECT_FALSE(has_heard(member_));
}

}  // namespace
}  // namespace spead
