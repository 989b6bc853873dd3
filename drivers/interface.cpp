// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/interface.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::drivers {

port::NetdevFacts usable_interface(const std::string& name, const std::string& where,
                                   const port::Machine& machine) {
    const auto facts = machine.netdev(name);
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

namespace {

/// Fills an ethtool structure. Returns false when the interface's driver does not support the request.
bool ask_ethtool(const std::string& name, void* question) {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(question);
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    const bool known = ::ioctl(fd, SIOCETHTOOL, &request) == 0;
    ::close(fd);
    return known;
}

}  // namespace

ReceiveQueues receive_queues(const std::string& name) {
    ReceiveQueues queues;
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (ask_ethtool(name, &channels)) {
        const auto count = [](std::uint32_t n) {
            return static_cast<std::uint16_t>(std::clamp(n, 1U, 65535U));
        };
        queues.all = count(channels.rx_count + channels.combined_count);
        queues.combined = channels.max_combined == 0 ? std::uint16_t{1} : count(channels.combined_count);
    }
    return queues;
}

std::string kernel_driver(const std::string& name) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    return ask_ethtool(name, &info) ? std::string{info.driver} : std::string{};
}

}  // namespace spead::drivers
