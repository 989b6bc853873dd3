// SPDX-License-Identifier: BSD-3-Clause
#include "port/netdev.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/capability.h>
#include <memory>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/interface_addresses.hpp"
#include "port/source_address.hpp"

namespace spead::port {

namespace {

class ControlSocket {
  public:
    ControlSocket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        if (fd_ < 0) {
            throw_error("network interfaces", "cannot open a socket to ask the kernel: {}",
                        std::strerror(errno));
        }
    }
    ~ControlSocket() { ::close(fd_); }
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    /// Makes the request. Returns 0, or errno.
    int ask(unsigned long request, ifreq& interface) const {
        return ::ioctl(fd_, request, &interface) == 0 ? 0 : errno;
    }

  private:
    int fd_;
};

ifreq request_for(const std::string& name) {
    ifreq interface {};
    name.copy(interface.ifr_name, IFNAMSIZ - 1);
    return interface;
}

}  // namespace

std::optional<NetdevFacts> netdev_facts(const std::string& name) {
    if (name.empty() || name.size() >= IFNAMSIZ) {
        return std::nullopt;
    }
    const ControlSocket kernel;
    NetdevFacts facts;
    facts.name = name;
    ifreq interface = request_for(name);
    if (const int error = kernel.ask(SIOCGIFINDEX, interface); error != 0) {
        if (error == ENODEV) {
            return std::nullopt;
        }
        throw_error(name, "cannot ask the kernel for this interface: {}", std::strerror(error));
    }
    facts.index = static_cast<unsigned>(interface.ifr_ifindex);
    interface = request_for(name);
    if (kernel.ask(SIOCGIFMTU, interface) == 0) {
        facts.mtu = static_cast<std::uint32_t>(interface.ifr_mtu);
    }
    interface = request_for(name);
    if (kernel.ask(SIOCGIFFLAGS, interface) == 0) {
        facts.up = (interface.ifr_flags & IFF_UP) != 0;
        facts.running = (interface.ifr_flags & IFF_RUNNING) != 0;
        facts.promiscuous = (interface.ifr_flags & IFF_PROMISC) != 0;
        facts.loopback = (interface.ifr_flags & IFF_LOOPBACK) != 0;
    }
    interface = request_for(name);
    if (kernel.ask(SIOCGIFHWADDR, interface) == 0) {
        facts.ethernet = interface.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
                         interface.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
        std::memcpy(facts.mac.data(), interface.ifr_hwaddr.sa_data, facts.mac.size());
    }
    const std::vector<SourceAddress> all = source_addresses(name);
    facts.address = choose_source(all, false).v4();
    if (const IpAddress best = choose_source(all, true); !best.is_unspecified()) {
        facts.address6 = best.v6();
    }
    return facts;
}

std::vector<std::string> netdev_names() {
    const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> list{::if_nameindex(),
                                                                                   &::if_freenameindex};
    if (!list) {
        throw_error("network interfaces", "cannot list them: {}", std::strerror(errno));
    }
    std::vector<std::string> names;
    for (const auto* entry = list.get(); entry->if_index != 0; ++entry) {
        names.emplace_back(entry->if_name);
    }
    return names;
}

std::string vlan_netdev_in(const std::string& config, const std::string& name, std::uint16_t vlan) {
    // Two lines of heading, then "eth0.42        | 42  | eth0".
    std::istringstream lines(config);
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string own;
        std::string bar;
        std::string parent;
        unsigned id = 0;
        if (words >> own >> bar >> id >> bar >> parent && id == vlan && parent == name) {
            return own;
        }
    }
    return {};
}

std::string vlan_netdev(const std::string& name, std::uint16_t vlan) {
    std::ifstream file("/proc/net/vlan/config");
    std::ostringstream text;
    text << file.rdbuf();
    return vlan_netdev_in(text.str(), name, vlan);
}

std::string netdev_of(const IpAddress& address) {
    for (const InterfaceAddress& one : interface_addresses()) {
        if (one.address == address) {
            return one.interface;
        }
    }
    return {};
}

void set_netdev_mtu(const std::string& name, std::uint32_t mtu) {
    const ControlSocket kernel;
    ifreq interface = request_for(name);
    interface.ifr_mtu = static_cast<int>(mtu);
    switch (const int error = kernel.ask(SIOCSIFMTU, interface)) {
        case 0:
            return;
        case EPERM:
            throw_error(
                name,
                "cannot set its MTU to {}: this needs CAP_NET_ADMIN; or run `ip link set {} mtu {}` first",
                mtu, name, mtu);
        case EINVAL:
            throw_error(name,
                        "its driver refuses an MTU of {}; `ip -d link show {}` shows its largest (maxmtu)",
                        mtu, name);
        default:
            throw_error(name, "cannot set its MTU to {}: {}", mtu, std::strerror(error));
    }
}

bool has_capability(int capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    const auto bit = static_cast<unsigned>(capability);
    return ((data[bit / 32].effective >> (bit % 32)) & 1U) != 0;
}

std::uint64_t lockable_bytes() {
    rlimit limit{};
    if (has_capability(CAP_IPC_LOCK) || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit.rlim_cur;
}

std::uint64_t longest_file_bytes() {
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

}  // namespace spead::port
