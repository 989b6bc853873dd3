// SPDX-License-Identifier: BSD-3-Clause
#include "send/socket_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <utility>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "recv/kernel_socket.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef IP_UNICAST_IF
#define IP_UNICAST_IF 50
#endif
#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

namespace spead::send {

namespace {

using namespace std::chrono_literals;

/// Holds the bytes of the socket's buffer.
constexpr int kBuffer = 512 << 10;
/// Limits the wait of a packet for room. A network interface that takes nothing for so long is broken.
constexpr std::chrono::seconds kPatience{10};
/// Holds the pause when a queue behind the socket is full: the socket does not tell when it has room.
constexpr std::chrono::microseconds kPause{200};
// The kernel's limits of packets that it cuts: segments, bytes of all of them (IPv6's is lower), parts.
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostBytes = 65'487;
constexpr std::size_t kMostParts = 1024;

bool is_set(int fd, int level, int option, int value) {
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/// Returns whether the error may come from the joining of packets.
bool may_come_from_joining(int error) {
    return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
}

int family_of(int fd) {
    int family = 0;
    socklen_t length = sizeof family;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 ? family : -1;
}

/// Makes the socket send through the interface. Sets errno.
bool goes_through(int fd, int family, unsigned index) {
    const auto number = static_cast<int>(index);
    const auto swapped = static_cast<int>(byte_swap(index));
    if (family == AF_INET6)
        return is_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, number) &&
               is_set(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, swapped);
    ip_mreqn group{};
    group.imr_ifindex = number;
    return ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group) == 0 &&
           is_set(fd, IPPROTO_IP, IP_UNICAST_IF, swapped);
}

}  // namespace

void wait_for_waker(int waker, std::chrono::nanoseconds patience) noexcept {
    pollfd p{waker, POLLIN, 0};
    const auto ns = std::max<std::chrono::nanoseconds>(patience, 0ns).count();
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    ::ppoll(&p, 1, &time, nullptr);
}

SocketWriter::SocketWriter(const std::vector<Endpoint>& endpoints, const Options& options)
    : where_(options.where),
      fd_(::socket(family_of(endpoints.front().address), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!fd_)
        throw_error(where_, "cannot make a socket: {}{}", std::strerror(errno),
                    errno == EMFILE || errno == ENFILE ? "; raise the limit of descriptors (ulimit -n)" : "");
    const int family = family_of(endpoints.front().address);
    const unsigned index = recv::interface_number(options.interface, where_);
    need_one_version(endpoints, where_);
    for (const Endpoint& endpoint : endpoints) {
        if (endpoint.address.is_link_local() && index == 0)
            throw_usage(where_,
                        "{} is link-local, and means nothing without an interface; name the interface",
                        to_string(endpoint));
        destinations_.push_back(socket_address(endpoint.address, endpoint.port, index));
    }
    is_set(fd_.get(), SOL_SOCKET, SO_SNDBUF, kBuffer);
    if (index != 0 && !goes_through(fd_.get(), family, index))
        throw_error(where_, "cannot send through the interface `{}`: {}", options.interface,
                    std::strerror(errno));
    set_ttl(options.ttl);
    if (!(family == AF_INET6 ? is_set(fd_.get(), IPPROTO_IPV6, IPV6_TCLASS, options.dscp << 2)
                             : is_set(fd_.get(), IPPROTO_IP, IP_TOS, options.dscp << 2)))
        throw_error(where_, "cannot set dscp {}: {}", options.dscp, std::strerror(errno));
}

SocketWriter::SocketWriter(FileDescriptor fd, std::vector<SocketAddress> destinations, std::string where)
    : where_(std::move(where)), fd_(std::move(fd)), destinations_(std::move(destinations)) {
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0)
        throw_error(where_, "descriptor {} is no socket: {}", fd_.get(), std::strerror(errno));
    if (type != SOCK_DGRAM)
        throw_error(where_, "the socket is no datagram socket; make one of type SOCK_DGRAM");
    const int family = family_of(fd_.get());
    for (const SocketAddress& d : destinations_)
        if (d.family() != family)
            throw_error(where_, "a destination is of address family {}, and the socket of {}", d.family(),
                        family);
}

std::chrono::nanoseconds SocketWriter::patience() const noexcept {
    return kPatience;
}

void SocketWriter::set_ttl(std::uint8_t ttl) {
    const bool six = family_of(fd_.get()) == AF_INET6;
    const bool done = six ? is_set(fd_.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl) &&
                                is_set(fd_.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl)
                          : is_set(fd_.get(), IPPROTO_IP, IP_MULTICAST_TTL, ttl) &&
                                is_set(fd_.get(), IPPROTO_IP, IP_TTL, std::max<int>(ttl, 1));
    if (!done)
        throw_error(where_, "cannot set ttl {}: {}", ttl, std::strerror(errno));
}

/// Returns how many of the first datagrams may go to the kernel as one: all of a size but for the last, which
/// may be shorter.
std::size_t SocketWriter::join(std::span<const Datagram> burst) const noexcept {
    const Datagram& first = burst.front();
    std::size_t bytes = first.bytes, parts = first.part_count, n = 1;
    if (!segmentation_)
        return 1;
    while (n < burst.size() && n < kMostSegments && burst[n - 1].bytes == first.bytes) {
        const Datagram& next = burst[n];
        bytes += next.bytes;
        parts += next.part_count;
        if (next.substream != first.substream || next.bytes > first.bytes || bytes > kMostBytes ||
            parts > kMostParts)
            break;
        n++;
    }
    return n;
}

/// Makes messages of the datagrams; returns how many.
std::size_t SocketWriter::prepare(std::span<const Datagram> burst) noexcept {
    std::size_t n = 0;
    for (; n < kMessages && !burst.empty(); n++) {
        const std::size_t joined = join(burst);
        const Datagram& first = burst.front();
        SocketAddress& to = destinations_[first.substream];
        msghdr& m = messages_[n].msg_hdr;
        m = {};
        m.msg_name = &to.storage;
        m.msg_namelen = to.length;
        m.msg_iov = first.parts;
        for (const Datagram& d : burst.first(joined))
            m.msg_iovlen += d.part_count;
        if (joined > 1) {
            m.msg_control = controls_[n].bytes.data();
            m.msg_controllen = controls_[n].bytes.size();
            cmsghdr* const c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_UDP;
            c->cmsg_type = UDP_SEGMENT;
            c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
            const auto size = static_cast<std::uint16_t>(first.bytes);
            std::memcpy(CMSG_DATA(c), &size, sizeof size);
        }
        packets_[n] = joined;
        burst = burst.subspan(joined);
    }
    return n;
}

PacketWriter::Written SocketWriter::write(std::span<const Datagram> burst) noexcept {
    Written written;
    bool again = true;
    full_ = false;
    while (written.packets < burst.size()) {
        const std::size_t n = prepare(burst.subspan(written.packets));
        const int sent =
            ::sendmmsg(fd_.get(), messages_.data(), static_cast<unsigned>(n), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            for (int i = 0; i < sent; i++)
                written.packets += packets_[static_cast<std::size_t>(i)];
            continue;
        }
        const int error = errno;
        if (error == EINTR)
            continue;
        if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM) {
            full_ = error == ENOBUFS || error == ENOMEM;
            written.no_room = true;
            return written;
        }
        if (packets_.front() > 1 && may_come_from_joining(error)) {
            segmentation_ = false;
            continue;
        }
        // Some sockets report the fate of an earlier packet once (ICMP).
        if (std::exchange(again, false) && (error == ECONNREFUSED || error == EHOSTUNREACH))
            continue;
        written.error = error;
        return written;
    }
    return written;
}

void SocketWriter::wait(int waker, std::chrono::nanoseconds patience) noexcept {
    if (full_) {
        wait_for_waker(waker, std::min<std::chrono::nanoseconds>(patience, kPause));
        return;
    }
    std::array<pollfd, 2> p{{{waker, POLLIN, 0}, {fd_.get(), POLLOUT, 0}}};
    const auto ns = std::max<std::chrono::nanoseconds>(patience, 0ns).count();
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    ::ppoll(p.data(), p.size(), &time, nullptr);
}

}  // namespace spead::send
