// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "port/unicast_sockets.hpp"

/// Reports joined groups to the network.
namespace spead::port {

/// Manages membership through the kernel, which sends the IGMP and MLD reports, answers queries, and programs
/// the interface's filter.
///
/// UDP sockets bound to no port join the groups on one network interface, by its index; they never receive a
/// packet. The kernel limits the groups of a socket (net.ipv4.igmp_max_memberships, 20; of IPv6
/// net.core.optmem_max), so a new one is opened when one is full. Sources are source-specific joins (IGMPv3,
/// MLDv2). Joins are paced, because a switch
/// drops reports that come in a flood.
///
/// Control code, one thread; errors are thrown as spead::Error naming the group, the interface and the fix.
/// The destructor leaves all groups.
class KernelMembership {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kInterval{1};  ///< between two joins, on average
    static constexpr int kBurst = 16;                         ///< joins that may follow each other at once

    KernelMembership(unsigned if_index, std::string interface);
    ~KernelMembership();
    KernelMembership(const KernelMembership&) = delete;
    KernelMembership& operator=(const KernelMembership&) = delete;

    /// Queues a join of the endpoint's group (from its source, if it names one); the port does not matter. A
    /// group wanted twice is joined once and must be left twice. A unicast endpoint gets, at once, the socket
    /// that keeps the kernel from refusing its packets (UnicastSockets).
    void want(const Endpoint& endpoint);
    /// Undoes one want(): leaves the group at once when no want() for it is left.
    void leave(const Endpoint& endpoint);

    /// Joins the groups that are due at `now`. Returns whether nothing is pending.
    bool step(Clock::time_point now);
    /// Joins all pending groups, sleeping between the joins. Throws Error when `interrupt_fd` (-1: none)
    /// becomes readable meanwhile.
    void join_all(int interrupt_fd = -1);

    std::size_t pending() const noexcept { return pending_.size(); }
    std::size_t joined() const noexcept;
    std::size_t sockets() const noexcept { return sockets_.size(); }
    const UnicastSockets& unicast() const noexcept { return unicast_; }

  private:
    /// Holds a group, and its wanted source (0.0.0.0: any).
    struct Key {
        IpAddress group;
        IpAddress source;
        auto operator<=>(const Key&) const = default;
    };
    struct Socket {
        int family = 0;
        int fd = -1;
        std::set<Key> keys;
    };

    void join(const Key& key);
    bool fits(const Socket& socket, const Key& key) const;
    int try_join(int fd, const Key& key) const;
    void drop(const Key& key);
    int open_socket(int family) const;
    [[noreturn]] void refuse(const Key& key, int error) const;

    unsigned if_index_;
    std::string interface_;
    std::map<Key, unsigned> wanted_;
    std::deque<Key> pending_;
    std::vector<Socket> sockets_;
    UnicastSockets unicast_;
    Clock::time_point next_{};
};

}  // namespace spead::port
