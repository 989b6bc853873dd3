// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/endpoint.hpp"
#include "base/file_descriptor.hpp"
#include "base/socket_address.hpp"
#include "tests/unit/wire/frames.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/// Sends datagrams over loopback, as another program does.
namespace spead::recv::test {

using wire::test::Bytes;

inline constexpr std::uint32_t kLoopback = 0x7F000001;
inline constexpr std::uint32_t kGroup = 0xEFFF4D01;

/// Returns loopback's own address, of the family of `like`.
inline IpAddress loopback_like(const IpAddress& like) {
    return like.is_v4() ? IpAddress(kLoopback) : IpAddress(Ipv6{0, 1});
}

inline sockaddr_in to_sockaddr(const Endpoint& e) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(e.port);
    out.sin_addr.s_addr = htonl(e.address.v4().value);
    return out;
}

/// Returns a UDP port that was free a moment ago.
inline std::uint16_t free_port() {
    const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = to_sockaddr({{kLoopback}, 0, {}});
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
}

/// Sends from an address of loopback.
class UdpSender {
  public:
    explicit UdpSender(const Endpoint& to) : UdpSender(to, loopback_like(to.address)) {}
    UdpSender(const Endpoint& to, const IpAddress& from)
        : fd_(::socket(family_of(to.address), SOCK_DGRAM | SOCK_CLOEXEC, 0)),
          to_(socket_address(to.address, to.port, ::if_nametoindex("lo"))) {
        const SocketAddress address = socket_address(from, 0);
        EXPECT_EQ(::bind(fd_.get(), address.get(), address.length), 0);
        if (to.address.is_v4()) {
            const in_addr own = to_sockaddr({from, 0, {}}).sin_addr;
            EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof own), 0);
        } else {
            const unsigned lo = ::if_nametoindex("lo");
            EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &lo, sizeof lo), 0);
        }
    }
    void send(const Bytes& datagram) const {
        EXPECT_EQ(::sendto(fd_.get(), datagram.data(), datagram.size(), 0, to_.get(), to_.length),
                  static_cast<ssize_t>(datagram.size()));
    }
    /// Sends the bytes as datagrams of `segment` bytes each, in one call. Returns whether the kernel can.
    bool send_segments(const Bytes& bytes, int segment) const {
        return ::setsockopt(fd_.get(), SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0 &&
               ::sendto(fd_.get(), bytes.data(), bytes.size(), 0, to_.get(), to_.length) ==
                   static_cast<ssize_t>(bytes.size());
    }

  private:
    FileDescriptor fd_;
    SocketAddress to_;
};

}  // namespace spead::recv::test
