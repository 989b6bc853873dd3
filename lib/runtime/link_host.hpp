// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "base/frame_ring.hpp"
#include "port/arp_host.hpp"
#include "port/igmp_host.hpp"
#include "port/mld_host.hpp"
#include "port/ndp_host.hpp"
#include "port/port.hpp"

struct rte_mempool;

namespace spead::runtime {

/// Runs our own hosts on one port that the kernel does not see: IGMP and ARP, and MLD and NDP from the first
/// use of IPv6 on. Frames come from the receive lcores through rings, and leave through a transmit queue of
/// their own.
///
/// Control code, one thread; no other thread ever uses that queue. The port is started while serve() is
/// called. Destroyed after the port is closed, which gives the last mbufs back.
class LinkHost {
  public:
    using Clock = std::chrono::steady_clock;

    /// Limits the UDP payload of sent packets, as PortRequest::max_tx_packet counts it.
    static constexpr std::uint32_t kMaxPacket = 576 - 28;
    static_assert(port::IgmpHost::kLongestPacket == kMaxPacket + 28);

    /// Holds our addresses. Without one of IPv6 that is link-local, that of the port's MAC address is one,
    /// too.
    struct Addresses {
        Ipv4 ip;     ///< 0.0.0.0: none
        Ipv6 ip6{};  ///< ::: none
    };

    /// Takes a requested `queue` of the port. `vlan`: frames are tagged, and frames without this tag are
    /// ignored. Throws Error when there is no memory for the mbufs.
    LinkHost(const port::Port& port, std::uint16_t queue, const Addresses& addresses,
             std::optional<std::uint16_t> vlan);
    ~LinkHost();
    LinkHost(const LinkHost&) = delete;
    LinkHost& operator=(const LinkHost&) = delete;

    /// Returns the EAL memory, at most, with a transmit queue of that many descriptors.
    static std::size_t memory_need(std::uint16_t descriptors) noexcept;

    /// Returns a ring for a receive queue's frames for the hosts. It lasts as long as the host.
    FrameRing& add_source();

    /// Queues a join of the endpoint's group, or undoes that (port/group_host.hpp).
    void want(const Endpoint& endpoint);
    void leave(const Endpoint& endpoint);
    /// Leaves all groups, with short intervals between the reports: call serve() until idle().
    void leave_all();
    /// Returns the joins that wait for their turn.
    std::size_t pending() const noexcept { return igmp_.pending() + mld_.pending(); }

    /// Resolves the host's MAC address, without end (port/neighbour_table.hpp).
    void resolve(const IpAddress& host);
    /// Returns the last reply; none before the first, and when the host no longer replies.
    std::optional<MacAddress> find(const IpAddress& host) const;

    /// Speaks MLD and NDP from now on: joins the solicited-node groups of our addresses and announces these.
    void use_ipv6();

    /// Handles received frames, does what is due and sends frames as far as the queue takes them. Cheap when
    /// idle.
    void serve(Clock::time_point now);

    /// Returns whether all reports are on their way.
    bool idle() const { return igmp_.idle() && mld_.idle() && unsent_.empty(); }
    std::uint64_t sent() const noexcept { return sent_; }

  private:
    /// Limits the frames that wait for the queue; at the limit no more are made.
    static constexpr std::size_t kMostUnsent = 64;

    template <typename Host>
    void step(Host& host, Clock::time_point now);
    void report_conflict();
    bool send(const port::Frame& frame);

    const std::string name_;
    std::mt19937 random_{std::random_device{}()};
    wire::LinkAddress own_;
    port::IgmpHost igmp_;
    port::MldHost mld_;
    port::ArpHost arp_;
    port::NdpHost ndp_;
    port::TxQueue queue_;
    rte_mempool* pool_ = nullptr;
    std::vector<std::unique_ptr<FrameRing>> rings_;
    std::deque<port::Frame> unsent_;
    std::uint64_t sent_ = 0;
    bool uses_ipv6_ = false;
    bool reported_conflict_ = false;
};

}  // namespace spead::runtime
