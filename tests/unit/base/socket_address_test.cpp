// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>
#include <sys/un.h>

#include <gtest/gtest.h>

namespace spead {
namespace {

template <class Address>
Address as(const SocketAddress& from) {
    Address out{};
    std::memcpy(&out, &from.storage, sizeof out);
    return out;
}

TEST(SocketAddress, IsWhatInetPtonMakesOfIpv4) {
    const SocketAddress made = socket_address(parse_ip("239.1.2.3"), 7148, 5);
    const auto in = as<sockaddr_in>(made);
    in_addr expected{};
    ASSERT_EQ(::inet_pton(AF_INET, "239.1.2.3", &expected), 1);
    EXPECT_EQ(made.family(), AF_INET);
    EXPECT_EQ(made.length, sizeof in);
    EXPECT_EQ(in.sin_addr.s_addr, expected.s_addr);
    EXPECT_EQ(ntohs(in.sin_port), 7148);
}

TEST(SocketAddress, IsWhatInetPtonMakesOfIpv6) {
    const SocketAddress made = socket_address(parse_ip("2001:db8:1:2:3:4:5:6"), 7148, 5);
    const auto in = as<sockaddr_in6>(made);
    in6_addr expected{};
    ASSERT_EQ(::inet_pton(AF_INET6, "2001:db8:1:2:3:4:5:6", &expected), 1);
    EXPECT_EQ(made.family(), AF_INET6);
    EXPECT_EQ(made.length, sizeof in);
    EXPECT_EQ(std::memcmp(&in.sin6_addr, &expected, sizeof expected), 0);
    EXPECT_EQ(ntohs(in.sin6_port), 7148);
    EXPECT_EQ(in.sin6_flowinfo, 0U);
}

TEST(SocketAddress, HasTheScopeOfALinkLocalAddressAlone) {
    const std::array<std::pair<const char*, unsigned>, 5> cases{
        {{"fe80::1", 5}, {"ff02::1", 5}, {"ff15::1", 0}, {"2001:db8::1", 0}, {"::1", 0}}};
    for (const auto& [text, scope] : cases)
        EXPECT_EQ(as<sockaddr_in6>(socket_address(parse_ip(text), 1, 5)).sin6_scope_id, scope) << text;
}

TEST(SocketAddress, ComesBack) {
    for (const char* text : {"1.2.3.4", "255.255.255.255", "::1", "fe80::1", "ff3e:40:2001:db8::1"})
        EXPECT_EQ(to_string(address_of(socket_address(parse_ip(text), 9, 3).get())), text);
}

TEST(SocketAddress, ReadsNothingOfAnotherFamily) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    std::memset(local.sun_path, 0xFF, sizeof local.sun_path);
    EXPECT_EQ(address_of(reinterpret_cast<const sockaddr*>(&local)), IpAddress{});
}

TEST(SocketAddress, FamilyOfAnAddress) {
    EXPECT_EQ(family_of(parse_ip("1.2.3.4")), AF_INET);
    EXPECT_EQ(family_of(parse_ip("::1")), AF_INET6);
}

}  // namespace
}  // namespace spead
