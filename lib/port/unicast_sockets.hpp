// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/endpoint.hpp"
#include "base/file_descriptor.hpp"

/// Keeps the kernel from refusing our unicast packets.
namespace spead::port {

/// Holds sockets for unicast endpoints. On an interface that the kernel shares, the kernel sees every packet
/// that a port receives. It answers those to an address of its own without a listening socket with ICMP "port
/// unreachable", at which senders give up. So this holds a UDP socket for each unicast endpoint, on that
/// interface only, whose filter drops everything.
///
/// The machine may get the address later. No socket is made if another one has the port already. Other
/// failures are logged: packets are received anyway. Control code, one thread.
class UnicastSockets {
  public:
    explicit UnicastSockets(std::string interface) : interface_(std::move(interface)) {}

    /// Holds the endpoint until it has been released as often. Ignores multicast.
    void hold(const Endpoint& endpoint);
    void let_go(const Endpoint& endpoint);

    std::size_t sockets() const noexcept;

  private:
    struct Held {
        unsigned times = 0;
        FileDescriptor fd{};  ///< none: none is needed, or it failed
    };

    void open(const Endpoint& endpoint, Held& held) const;

    std::string interface_;
    std::map<Endpoint, Held> held_;  ///< without source
};

}  // namespace spead::port
