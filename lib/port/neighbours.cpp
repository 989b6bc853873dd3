// SPDX-License-Identifier: BSD-3-Clause
#include "port/neighbours.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/inet6_addresses.hpp"
#include "base/interruptible.hpp"
#include "base/ipv6_bytes.hpp"
#include "base/socket_address.hpp"
#include "port/netdev.hpp"

namespace spead::port {

namespace {

constexpr std::chrono::milliseconds kLook{5};
constexpr std::uint16_t kDiscardPort = 9;
constexpr MacAddress kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr unsigned kValid = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;

class Socket {
  public:
    Socket(int family, int type, int protocol) : fd_(::socket(family, type | SOCK_CLOEXEC, protocol)) {
        if (fd_ < 0) {
            throw_error("neighbours", "cannot open a socket to ask the kernel: {}", std::strerror(errno));
        }
    }
    ~Socket() { ::close(fd_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    int fd() const noexcept { return fd_; }

  private:
    int fd_;
};

using Bytes6 = std::array<std::uint8_t, 16>;

/// Holds the kernel's rtvia with an address of IPv6: a router of another family than the destination.
struct Via6 {
    std::uint16_t family;
    Bytes6 address;
};

/// Builds a request of rtnetlink: `Body` (rtmsg, ndmsg) and attributes after it.
template <typename Body>
class Request {
  public:
    Request(std::uint16_t type, const Body& body) {
        header_.nlmsg_type = type;
        header_.nlmsg_flags = NLM_F_REQUEST;
        put(&body, sizeof body);
    }
    void add(std::uint16_t type, std::uint32_t value) { add(type, &value, sizeof value); }
    void add(std::uint16_t type, const IpAddress& address) {
        Bytes6 six;
        store_ipv6(six.data(), address.v6());
        if (address.is_v4())
            add(type, byte_swap(address.v4().value));
        else
            add(type, six.data(), six.size());
    }
    const void* finish() {
        header_.nlmsg_len = static_cast<std::uint32_t>(size_);
        std::memcpy(bytes_.data(), &header_, sizeof header_);
        return bytes_.data();
    }
    std::size_t size() const noexcept { return size_; }

  private:
    void add(std::uint16_t type, const void* value, std::size_t length) {
        rtattr attribute{};
        attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(length));
        attribute.rta_type = type;
        put(&attribute, sizeof attribute);
        put(value, length);
    }
    void put(const void* from, std::size_t length) {
        std::memcpy(bytes_.data() + size_, from, length);
        size_ += NLMSG_ALIGN(length);
    }

    nlmsghdr header_{};
    std::size_t size_ = NLMSG_HDRLEN;
    alignas(NLMSG_ALIGNTO) std::array<char, 128> bytes_{};
};

/// Holds the kernel's answer to one request.
class Answer {
  public:
    /// Sends the request and receives the answer. Returns 0, or the kernel's errno.
    template <typename Body>
    int ask(Request<Body>& request) {
        const Socket kernel(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
        const void* const bytes = request.finish();
        if (::send(kernel.fd(), bytes, request.size(), 0) < 0) {
            return errno;
        }
        const ssize_t n = ::recv(kernel.fd(), buffer_.data(), buffer_.size(), 0);
        if (n < 0) {
            return errno;
        }
        length_ = static_cast<std::size_t>(n);
        if (length_ < sizeof(nlmsghdr) || message()->nlmsg_len > length_) {
            return EBADMSG;
        }
        if (message()->nlmsg_type == NLMSG_ERROR) {
            return length_ < NLMSG_LENGTH(sizeof(nlmsgerr)) ? EBADMSG : -body<nlmsgerr>().error;
        }
        return 0;
    }

    template <typename Body>
    Body body() const {
        Body copy{};
        std::memcpy(&copy, buffer_.data() + NLMSG_HDRLEN, sizeof copy);
        return copy;
    }

    /// Returns the attribute after a body, if it is there and has the type's size.
    template <typename Body, typename T>
    std::optional<T> attribute(unsigned short type) const {
        const std::size_t end = message()->nlmsg_len;
        std::size_t at = NLMSG_LENGTH(sizeof(Body));
        while (at + sizeof(rtattr) <= end) {
            rtattr head{};
            std::memcpy(&head, buffer_.data() + at, sizeof head);
            if (head.rta_len < sizeof head || head.rta_len > end - at) {
                break;
            }
            if (head.rta_type == type && head.rta_len == RTA_LENGTH(sizeof(T))) {
                T value;
                std::memcpy(&value, buffer_.data() + at + RTA_LENGTH(0), sizeof value);
                return value;
            }
            at += RTA_ALIGN(head.rta_len);
        }
        return std::nullopt;
    }

  private:
    const nlmsghdr* message() const { return reinterpret_cast<const nlmsghdr*>(buffer_.data()); }

    alignas(nlmsghdr) std::array<char, 8192> buffer_{};
    std::size_t length_ = 0;
};

/// Holds one destination's next hop.
struct Hop {
    IpAddress destination;
    IpAddress address;  ///< the destination's own, or the router's
    std::optional<MacAddress> mac;
    bool asked = false;            ///< the kernel was made to resolve it
    bool asked_too_early = false;  ///< while its own addresses were tentative: then nobody answers

    std::string text() const {
        return address == destination
                   ? to_string(destination)
                   : fmt::format("{} (through the router {})", to_string(destination), to_string(address));
    }
};

/// Asks for the way to the destination through the interface. Returns 0, or the kernel's errno.
int ask_route(const NetdevFacts& netdev, const IpAddress& destination, unsigned flags, Answer& answer) {
    rtmsg body{};
    body.rtm_family = static_cast<unsigned char>(family_of(destination));
    body.rtm_dst_len = destination.is_v4() ? 32 : 128;
    body.rtm_flags = flags;
    Request<rtmsg> request(RTM_GETROUTE, body);
    request.add(RTA_DST, destination);
    request.add(RTA_OIF, netdev.index);
    return answer.ask(request);
}

/// Returns whether a route leads there. Without one, the kernel takes an IPv4 destination for a host on the
/// link of the named interface.
bool has_route(const NetdevFacts& netdev, const IpAddress& destination) {
    Answer answer;
    const int error = ask_route(netdev, destination, RTM_F_FIB_MATCH, answer);
    return error != EHOSTUNREACH && error != ENETUNREACH;
}

Hop route_to(const NetdevFacts& netdev, const IpAddress& destination) {
    Answer answer;
    if (const int error = ask_route(netdev, destination, 0, answer); error != 0) {
        throw_error(netdev.name, "the kernel has no route to {} through this interface: {}",
                    to_string(destination), std::strerror(error));
    }
    Hop hop;
    hop.destination = hop.address = destination;
    switch (answer.body<rtmsg>().rtm_type) {
        case RTN_BROADCAST:
            hop.mac = kBroadcast;
            break;
        case RTN_UNICAST:
            if (const auto router = answer.attribute<rtmsg, std::uint32_t>(RTA_GATEWAY)) {
                hop.address = Ipv4{byte_swap(*router)};
            } else if (const auto router6 = answer.attribute<rtmsg, Bytes6>(RTA_GATEWAY)) {
                hop.address = load_ipv6(router6->data());
            } else if (const auto via = answer.attribute<rtmsg, Via6>(RTA_VIA);
                       via && via->family == AF_INET6) {
                hop.address = load_ipv6(via->address.data());
            }
            break;
        case RTN_LOCAL:
            throw_error(netdev.name, "{} is an address of this machine: packets to it leave by no interface",
                        to_string(destination));
        default:
            throw_error(netdev.name, "the kernel's routes forbid packets to {}", to_string(destination));
    }
    return hop;
}

/// Looks the hop up in the neighbour table. Sets its MAC address when it is known, and returns the state.
unsigned look_up(const NetdevFacts& netdev, Hop& hop) {
    ndmsg body{};
    body.ndm_family = static_cast<unsigned char>(family_of(hop.address));
    body.ndm_ifindex = static_cast<int>(netdev.index);
    Request<ndmsg> request(RTM_GETNEIGH, body);
    request.add(NDA_DST, hop.address);
    Answer answer;
    const int error = answer.ask(request);
    if (error == ENOENT) {
        return NUD_NONE;
    }
    if (error != 0) {
        throw_error(netdev.name, "the kernel does not return its neighbour {}: {}", to_string(hop.address),
                    std::strerror(error));
    }
    const unsigned state = answer.body<ndmsg>().ndm_state;
    const auto mac = answer.attribute<ndmsg, MacAddress>(NDA_LLADDR);
    if ((state & kValid) != 0 && mac && *mac != MacAddress{}) {
        hop.mac = mac;
    }
    return state;
}

/// Makes the kernel resolve the hop. Leaves it for later while the interface's addresses of IPv6 are
/// tentative.
void prompt_kernel(const NetdevFacts& netdev, Hop& hop) {
    const Socket socket(family_of(hop.address), SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const SocketAddress to = socket_address(hop.address, kDiscardPort, netdev.index);
    const bool tentative = hop.address.is_v6() && has_tentative(netdev.index);
    if (::setsockopt(socket.fd(), SOL_SOCKET, SO_BINDTODEVICE, netdev.name.c_str(),
                     static_cast<socklen_t>(netdev.name.size())) != 0 ||
        ::sendto(socket.fd(), nullptr, 0, 0, to.get(), to.length) < 0) {
        const int error = errno;
        if (error == EADDRNOTAVAIL && tentative) {
            return;
        }
        throw_error(
            netdev.name,
            "the MAC address of {} is not in the kernel's neighbour table, and the kernel cannot ask for "
            "it: {}{}",
            hop.text(), std::strerror(error),
            hop.address.is_v6()         ? netdev.address6 ? "" : "; the interface has no IPv6 address"
            : netdev.address.value == 0 ? "; the interface has no IPv4 address"
                                        : "");
    }
    hop.asked = true;
    hop.asked_too_early = tentative;
}

[[noreturn]] void give_up(const NetdevFacts& netdev, const Hop& hop) {
    if (!hop.asked || hop.asked_too_early) {
        throw_error(
            netdev.name,
            "the MAC address of {} is not in the kernel's neighbour table, and the kernel cannot ask for "
            "it: the interface's IPv6 addresses are tentative; try again, or add one with `nodad`",
            hop.text());
    }
    const std::string_view asked = hop.address.is_v4() ? "ARP requests" : "neighbour solicitations";
    if (!has_route(netdev, hop.destination))
        throw_error(
            netdev.name,
            "no MAC address for {}: no route leads there through this interface, and on its link nobody "
            "with this address answered {}; add a route (`ip route add {} via ROUTER dev {}`), or "
            "name the port that leads there",
            hop.text(), asked, to_string(hop.destination), netdev.name);
    throw_error(netdev.name,
                "no MAC address for {}: it is not in the kernel's neighbour table of this interface, and it "
                "did not answer {}; start it, or add a route if it is behind a router",
                hop.text(), asked);
}

}  // namespace

std::vector<MacAddress> next_hop_macs(const std::string& netdev, std::span<const IpAddress> destinations,
                                      std::chrono::milliseconds patience, int interrupt_fd) {
    const auto facts = netdev_facts(netdev);
    if (!facts) {
        throw_error(netdev, "the network interface has disappeared");
    }
    std::vector<Hop> hops;
    for (const IpAddress& destination : destinations) {
        hops.push_back(route_to(*facts, destination));
    }
    const auto end = std::chrono::steady_clock::now() + patience;
    for (bool all = false; !all;) {
        const bool late = std::chrono::steady_clock::now() >= end;
        all = true;
        for (Hop& hop : hops) {
            if (hop.mac) {
                continue;
            }
            const unsigned state = look_up(*facts, hop);
            if (hop.mac) {
                continue;
            }
            all = false;
            const bool failed = hop.asked && (state & NUD_FAILED) != 0;
            if (late || (failed && !hop.asked_too_early)) {
                give_up(*facts, hop);
            }
            hop.asked &= !failed;
            if (!hop.asked) {
                prompt_kernel(*facts, hop);
            }
        }
        if (!all) {
            wait_interruptibly(interrupt_fd, kLook, netdev, "it was asked who has the next hops' addresses");
        }
    }
    std::vector<MacAddress> macs;
    macs.reserve(hops.size());
    for (const Hop& hop : hops) {
        macs.push_back(*hop.mac);
    }
    return macs;
}

std::vector<std::optional<MacAddress>> look_at_next_hops(const std::string& netdev,
                                                         std::span<const IpAddress> destinations) {
    std::vector<std::optional<MacAddress>> macs(destinations.size());
    const auto facts = netdev_facts(netdev);
    for (std::size_t i = 0; facts && i < destinations.size(); ++i) {
        try {
            Hop hop = route_to(*facts, destinations[i]);
            constexpr unsigned kSure = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE;
            constexpr unsigned kLooking = NUD_INCOMPLETE | NUD_DELAY | NUD_PROBE;
            const unsigned state = hop.mac ? NUD_NOARP : look_up(*facts, hop);
            macs[i] = hop.mac;
            if ((state & (kSure | kLooking)) == 0) {
                prompt_kernel(*facts, hop);
            }
        } catch (const Error&) {
            // Links and routes go and come back; until then there is nothing to know.
            continue;
        }
    }
    return macs;
}

}  // namespace spead::port
