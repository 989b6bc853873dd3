// SPDX-License-Identifier: BSD-3-Clause
#include "recv/kernel_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <utility>

#include <climits>

#include "base/error.hpp"
#include "base/inet6_addresses.hpp"
#include "base/interface_addresses.hpp"
#include "base/log.hpp"
#include "base/socket_address.hpp"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace spead::recv {

namespace {

/// Returns the fix if there are no descriptors left.
const char* descriptors_fix(int error) {
    return error == EMFILE || error == ENFILE ? "; raise the limit of descriptors (ulimit -n)" : "";
}

bool is_set(int fd, int level, int option, int value) {
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/// Returns the number of the interface that has this address; 0: none.
unsigned interface_with(const IpAddress& address) {
    for (const InterfaceAddress& one : interface_addresses())
        if (one.address == address)
            return ::if_nametoindex(one.interface.c_str());
    return 0;
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
    const bool is_address = interface.find_first_not_of("0123456789.") == std::string::npos ||
                            interface.find(':') != std::string::npos;
    if (index == 0 && is_address)
        index = interface_with(parse_ip(interface, where));
    if (index == 0)
        throw_error(where, "`{}` is no network interface and no address of one; `ip address` lists them",
                    interface);
    return index;
}

namespace {

/// Returns the sources to join: one of 0 if an endpoint is of all sources.
std::vector<IpAddress> sources_of(const std::vector<Endpoint>& endpoints) {
    std::vector<IpAddress> all;
    for (const Endpoint& e : endpoints) {
        if (!e.has_source())
            return {IpAddress{}};
        all.push_back(e.source);
    }
    return all;
}

bool has(const std::vector<IpAddress>& all, const IpAddress& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

KernelSocket::KernelSocket(const std::vector<Endpoint>& endpoints, const Options& options)
    : place_(endpoints.front()),
      fd_(::socket(family_of(place_.address), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    place_.source = {};
    if (!fd_) {
        const int error = errno;
        throw_error(options.where, "cannot make a socket for {}: {}{}", to_string(place_),
                    std::strerror(error), descriptors_fix(error));
    }
    if (place_.address.is_link_local() && options.interface.empty())
        throw_usage(options.where,
                    "{} is link-local, and means nothing without an interface; name the interface",
                    to_string(place_));
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
    // Several programs may receive a group. An address belongs to one. Of IPv6, the same port over IPv4 may
    // be another program's.
    const bool is_group = place_.address.is_multicast();
    if ((is_group && (!is_set(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
                      (errno = hear_own_groups(fd_.get(), family_of(place_.address))) != 0)) ||
        (place_.address.is_v6() && !is_set(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1)))
        throw_error(options.where, "cannot prepare a socket for {}: {}", to_string(place_),
                    std::strerror(errno));
    // Packets to an address come from every interface. One that does not exist is a mistake all the same.
    const unsigned index = interface_number(options.interface, options.where);
    // The kernel compares the interface of a packet with that of the join for IPv4 only.
    if (is_group && place_.address.is_v6() && index != 0 &&
        !is_set(fd_.get(), SOL_SOCKET, SO_BINDTOIFINDEX, static_cast<int>(index)))
        throw_error(options.where, "cannot bind a socket for {} to {}: {}{}", to_string(place_),
                    options.interface, std::strerror(errno),
                    errno == EPERM ? "; before Linux 5.7 that needs CAP_NET_RAW" : "");
    const SocketAddress address = socket_address(place_.address, place_.port, index);
    const auto bind = [&] { return ::bind(fd_.get(), address.get(), address.length) == 0 ? 0 : errno; };
    // The order matters: it may become usable in between. The kernel itself ends the time of a tentative one.
    const bool tentative = is_tentative(place_.address);
    int error = bind();
    if (error == EADDRNOTAVAIL && (tentative || options.early) &&
        allow_absent_address(fd_.get(), family_of(place_.address))) {
        error = bind();
        if (error == 0 && tentative)
            log_info(
                LogType::recv,
                "{}: the address of {} is tentative, so nothing comes until the kernel has asked for other "
                "hosts that have it; that needs the link",
                options.where, to_string(place_));
        else if (error == 0 && is_of_another_host(place_.address))
            log_warning(LogType::recv,
                        "{}: another host has the address of {}, so nothing comes; take that host's or this "
                        "machine's away (`ip address`)",
                        options.where, to_string(place_));
        else if (error == 0)
            log_warning(
                LogType::recv,
                "{}: this machine does not have the address of {} yet, so nothing comes until it has; "
                "`ip address` lists its addresses",
                options.where, to_string(place_));
    }
    if (error == 0)
        return;
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
    const std::vector<IpAddress> wanted = sources_of(endpoints);
    std::vector<Joined> now;
    std::vector<Joined> gone;
    for (const Joined& one : joined_)
        (has(wanted, one.source) ? now : gone).push_back(one);
    const std::size_t kept = now.size();
    if (wanted.size() != kept) {
        // Only a join needs the interface, which may be gone.
        const unsigned index = interface_number(options.interface, options.where);
        for (const IpAddress& source : wanted)
            if (std::none_of(now.begin(), now.end(), [&](const Joined& j) { return j.source == source; }))
                now.push_back({source, index});
    }
    // The kernel refuses a source where all are joined, and the reverse.
    for (const Joined& one : gone)
        set_membership(GroupChange::leave, one);
    std::size_t joined = kept;
    try {
        for (; joined < now.size(); joined++)
            join(now[joined], options.where);
    } catch (...) {
        while (joined-- > kept)
            set_membership(GroupChange::leave, now[joined]);
        for (const Joined& one : gone)
            if (const int error = set_membership(GroupChange::join, one); error != 0)
                log_error(LogType::recv, "{}: {} cannot be joined again: {}", options.where,
                          to_string(Endpoint{place_.address, place_.port, one.source}), std::strerror(error));
        throw;
    }
    joined_ = std::move(now);
}

KernelSocket::~KernelSocket() {
    for (const Joined& one : joined_)
        set_membership(GroupChange::leave, one);
}

std::vector<Endpoint> KernelSocket::endpoints() const {
    std::vector<Endpoint> all;
    for (const Joined& one : joined_)
        all.push_back({place_.address, place_.port, one.source});
    return all;
}

/// Joins or leaves the group, of one source or of all. Returns 0, or errno.
int KernelSocket::set_membership(GroupChange change, const Joined& which) const noexcept {
    return change_group(fd_.get(), change, place_.address, which.source, which.index);
}

void KernelSocket::join(const Joined& which, const std::string& where) const {
    const int error = set_membership(GroupChange::join, which);
    if (error == 0)
        return;
    throw_error(where, "cannot join {}: {}{}", to_string(Endpoint{place_.address, place_.port, which.source}),
                std::strerror(error),
                error == ENODEV    ? "; name the interface, as no route leads to the group"
                : error == ENOBUFS ? "; raise net.ipv4.igmp_max_memberships or net.ipv4.igmp_max_msf (of "
                                     "IPv6: net.ipv6.mld_max_msf or "
                                     "net.core.optmem_max)"
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
