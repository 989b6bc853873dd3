// SPDX-License-Identifier: BSD-3-Clause
#include "recv/kernel_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <utility>

#include <climits>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace spead::recv {

namespace {

sockaddr_in socket_address(Ipv4 address, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = byte_swap(port);
    out.sin_addr.s_addr = byte_swap(address.value);
    return out;
}

template <class Group>
void set_group(sockaddr_storage& to, const Group& address) {
    static_assert(sizeof address <= sizeof to);
    std::memcpy(&to, &address, sizeof address);
}

/// Returns the fix if there are no descriptors left.
const char* descriptors_fix(int error) {
    return error == EMFILE || error == ENFILE ? "; raise the limit of descriptors (ulimit -n)" : "";
}

bool is_set(int fd, int level, int option, int value) {
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/// Returns the number of the interface that has this address; 0: none.
unsigned interface_with(Ipv4 address) {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0)
        return 0;
    unsigned index = 0;
    for (const ifaddrs* i = all; i != nullptr && index == 0; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET)
            continue;
        sockaddr_in its{};
        std::memcpy(&its, i->ifa_addr, sizeof its);
        if (byte_swap(its.sin_addr.s_addr) == address.value)
            index = ::if_nametoindex(i->ifa_name);
    }
    ::freeifaddrs(all);
    return index;
}

}  // namespace

unsigned interface_number(const std::string& interface, const std::string& where) {
    if (interface.empty())
        return 0;
    // The kernel is asked through a socket, and does not say so if there is no descriptor for it.
    if (const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); probe.get() < 0)
        throw_error(where, "cannot look for the network interface `{}`: {}{}", interface,
                    std::strerror(errno), descriptors_fix(errno));
    unsigned index = ::if_nametoindex(interface.c_str());
    const bool is_address = interface.find_first_not_of("0123456789.") == std::string::npos;
    if (index == 0 && is_address)
        index = interface_with(parse_ipv4(interface, where));
    if (index == 0)
        throw_error(where, "`{}` is no network interface and no IPv4 address of one; `ip address` lists them",
                    interface);
    return index;
}

namespace {

constexpr int kJoin = 1;
constexpr int kLeave = 0;

/// Returns the sources to join: one of 0 if an endpoint is of all sources.
std::vector<Ipv4> sources_of(const std::vector<Endpoint>& endpoints) {
    std::vector<Ipv4> all;
    for (const Endpoint& e : endpoints) {
        if (!e.has_source())
            return {Ipv4{}};
        all.push_back(e.source);
    }
    return all;
}

bool has(const std::vector<Ipv4>& all, Ipv4 one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

KernelSocket::KernelSocket(const std::vector<Endpoint>& endpoints, const Options& options)
    : place_(endpoints.front()), fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    place_.source = {};
    if (!fd_) {
        const int error = errno;
        throw_error(options.where, "cannot make a socket for {}: {}{}", to_string(place_),
                    std::strerror(error), descriptors_fix(error));
    }
    // Packets to an address come from every interface. One that does not exist is a mistake all the same.
    if (!place_.address.is_multicast())
        static_cast<void>(interface_number(options.interface, options.where));
    set_buffer(options);
    gro_ = options.gro && is_set(fd_.get(), SOL_UDP, UDP_GRO, 1);
    bind_to(options);
    change(endpoints, options);
}

KernelSocket::KernelSocket(FileDescriptor socket, const Endpoint& place, const Options& options)
    : place_(place), fd_(std::move(socket)) {
    place_.source = {};
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_DGRAM)
        throw_error(options.where, "its descriptor is no UDP socket; give one that is bound");
    // An option would stay when the user reads the socket again: his own choice holds.
    int gro = 0;
    length = sizeof gro;
    gro_ = ::getsockopt(fd_.get(), SOL_UDP, UDP_GRO, &gro, &length) == 0 && gro != 0;
    note_buffer();
}

void KernelSocket::bind_to(const Options& options) {
    // Several programs may receive a group. An address belongs to one.
    if (place_.address.is_multicast() && (!is_set(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
                                          !is_set(fd_.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0)))
        throw_error(options.where, "cannot prepare a socket for {}: {}", to_string(place_),
                    std::strerror(errno));
    const sockaddr_in address = socket_address(place_.address, place_.port);
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return;
    const int error = errno;
    throw_error(options.where, "cannot receive {}: {}{}", to_string(place_), std::strerror(error),
                error == EADDRNOTAVAIL ? "; `ip address` lists this machine's addresses"
                : error == EADDRINUSE  ? "; `ss -lunp` shows the program that has it"
                : error == EACCES
                    ? "; ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE"
                    : "");
}

void KernelSocket::set_buffer(const Options& options) {
    if (options.buffer_size != 0) {
        // The kernel doubles the number for its bookkeeping. Only privileged users may exceed rmem_max.
        const int wanted = static_cast<int>(std::min<std::size_t>(options.buffer_size, INT_MAX / 2));
        if (!options.privileged || !is_set(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, wanted))
            is_set(fd_.get(), SOL_SOCKET, SO_RCVBUF, wanted);
    }
    note_buffer();
}

void KernelSocket::note_buffer() noexcept {
    int granted = 0;
    socklen_t length = sizeof granted;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &granted, &length) == 0)
        buffer_size_ = static_cast<std::size_t>(granted) / 2;
}

void KernelSocket::change(const std::vector<Endpoint>& endpoints, const Options& options) {
    if (!place_.address.is_multicast())
        return;
    const std::vector<Ipv4> wanted = sources_of(endpoints);
    std::vector<Joined> now;
    std::vector<Joined> gone;
    for (const Joined& one : joined_)
        (has(wanted, one.source) ? now : gone).push_back(one);
    const std::size_t kept = now.size();
    if (wanted.size() != kept) {
        // Only a join needs the interface, which may be gone.
        const unsigned index = interface_number(options.interface, options.where);
        for (const Ipv4 source : wanted)
            if (std::none_of(now.begin(), now.end(), [&](const Joined& j) { return j.source == source; }))
                now.push_back({source, index});
    }
    // The kernel refuses a source where all are joined, and the reverse.
    for (const Joined& one : gone)
        set_membership(kLeave, one);
    std::size_t joined = kept;
    try {
        for (; joined < now.size(); joined++)
            join(now[joined], options.where);
    } catch (...) {
        while (joined-- > kept)
            set_membership(kLeave, now[joined]);
        for (const Joined& one : gone)
            if (!set_membership(kJoin, one))
                log_error(LogType::recv, "{}: {} cannot be joined again: {}", options.where,
                          to_string(Endpoint{place_.address, place_.port, one.source}), std::strerror(errno));
        throw;
    }
    joined_ = std::move(now);
}

KernelSocket::~KernelSocket() {
    for (const Joined& one : joined_)
        set_membership(kLeave, one);
}

std::vector<Endpoint> KernelSocket::endpoints() const {
    std::vector<Endpoint> all;
    for (const Joined& one : joined_)
        all.push_back({place_.address, place_.port, one.source});
    return all;
}

/// Joins or leaves the group, of one source or of all. Sets errno.
bool KernelSocket::set_membership(int option, const Joined& which) const noexcept {
    const sockaddr_in group = socket_address(place_.address, 0);
    if (which.source.value == 0) {
        group_req request{};
        request.gr_interface = which.index;
        set_group(request.gr_group, group);
        return ::setsockopt(fd_.get(), IPPROTO_IP, option == kJoin ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP,
                            &request, sizeof request) == 0;
    }
    group_source_req request{};
    request.gsr_interface = which.index;
    set_group(request.gsr_group, group);
    set_group(request.gsr_source, socket_address(which.source, 0));
    return ::setsockopt(fd_.get(), IPPROTO_IP,
                        option == kJoin ? MCAST_JOIN_SOURCE_GROUP : MCAST_LEAVE_SOURCE_GROUP, &request,
                        sizeof request) == 0;
}

void KernelSocket::join(const Joined& which, const std::string& where) const {
    if (set_membership(kJoin, which))
        return;
    const int error = errno;
    throw_error(where, "cannot join {}: {}{}", to_string(Endpoint{place_.address, place_.port, which.source}),
                std::strerror(error),
                error == ENODEV    ? "; name the interface, as no route leads to the group"
                : error == ENOBUFS ? "; raise net.ipv4.igmp_max_memberships or net.ipv4.igmp_max_msf"
                                   : "");
}

std::optional<std::uint32_t> KernelSocket::dropped() const noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0)
        return std::nullopt;
    return info[SK_MEMINFO_DROPS];
}

}  // namespace spead::recv
