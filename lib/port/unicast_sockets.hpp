// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/endpoint.hpp"

/// Telling the kernel that somebody wants our unicast packets.
namespace spead::port {

/// On an interface that the kernel shares, it sees every packet that a port receives, and answers those to an
/// address of its own on which no socket listens with ICMP "port unreachable", at which senders give up. So
/// this holds a UDP socket for each unicast endpoint, on that interface only, whose filter drops everything.
///
/// No socket is needed, and none is made, where the address is not the machine's or another socket has the
/// port already. Other failures are logged: packets are received all the same. Control world, one thread.
class UnicastSockets {
  public:
    explicit UnicastSockets(std::string interface) : interface_(std::move(interface)) {}
    ~UnicastSockets();
    UnicastSockets(const UnicastSockets&) = delete;
    UnicastSockets& operator=(const UnicastSockets&) = delete;

    /// Holds the endpoint until it has been let go of as often. Multicast is ignored.
    void hold(const Endpoint& endpoint);
    void let_go(const Endpoint& endpoint);

    std::size_t sockets() const noexcept;

  private:
    struct Held {
        unsigned times = 0;
        int fd = -1;  ///< -1: none is needed, or it failed
    };

    int open(const Endpoint& endpoint) const;

    std::string interface_;
    std::map<Endpoint, Held> held_;  ///< without source
};

}  // namespace spead::port
