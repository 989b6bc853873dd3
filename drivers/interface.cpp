// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/interface.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::drivers {

port::NetdevFacts usable_interface(const std::string& name, const std::string& where,
                                   const port::Host& host) {
    const auto facts = host.netdev(name);
    if (!facts) {
        throw_error(where, "there is no network interface \"{}\"; `ip link` lists them", name);
    }
    if (!facts->ethernet) {
        throw_error(where, "the network interface {} does not carry Ethernet frames", name);
    }
    if (!facts->up) {
        throw_error(where, "the network interface {} is down; run `ip link set {} up`", name, name);
    }
    return *facts;
}

void check_packet_socket(const std::string& device, const std::string& where) {
    // Asking the kernel beats reading capabilities: user namespaces change what a capability is good for.
    const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        ::close(fd);
        return;
    }
    if (errno == EPERM || errno == EACCES) {
        throw_error(where,
                    "{} needs CAP_NET_RAW for its packet sockets: run as root, or `setcap "
                    "cap_net_raw,cap_net_admin+ep` "
                    "on the program",
                    device);
    }
    throw_error(where, "{} cannot open a packet socket: {}", device, std::strerror(errno));
}

}  // namespace spead::drivers
