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
#include "port/port.hpp"

struct rte_mempool;

namespace spead::runtime {

/// Runs our own IGMP and ARP hosts on one port that the kernel does not see. Frames come from the receive
/// lcores through rings, and leave through a transmit queue of their own.
///
/// Control code, one thread; no other thread ever uses that queue. The port is started while serve() is
/// called. Destroyed after the port is closed, which gives the last mbufs back.
class LinkHost {
  public:
    using Clock = std::chrono::steady_clock;

    /// Limits the UDP payload of sent packets, as PortRequest::max_tx_packet counts it.
    static constexpr std::uint32_t kMaxPacket = 576 - 28;
    static_assert(port::IgmpHost::kLongestPacket == kMaxPacket + 28);

    /// Takes a requested `queue` of the port. `address`: 0.0.0.0 when the port has none. `vlan`: frames are
    /// tagged, and frames without this tag are ignored. Throws Error when there is no memory for the mbufs.
    LinkHost(const port::Port& port, std::uint16_t queue, Ipv4 address, std::optional<std::uint16_t> vlan);
    ~LinkHost();
    LinkHost(const LinkHost&) = delete;
    LinkHost& operator=(const LinkHost&) = delete;

    /// Returns the EAL memory, at most, with a transmit queue of that many descriptors.
    static std::size_t memory_need(std::uint16_t descriptors) noexcept;

    /// Returns a ring for a receive queue's IGMP and ARP frames. It lasts as long as the host.
    FrameRing& add_source();

    port::IgmpHost& igmp() noexcept { return igmp_; }
    port::ArpHost& arp() noexcept { return arp_; }

    /// Handles received frames, does what is due and sends frames as far as the queue takes them. Cheap when
    /// idle.
    void serve(Clock::time_point now);

    /// Returns whether all reports are on their way.
    bool idle() const { return igmp_.idle() && unsent_.empty(); }
    std::uint64_t sent() const noexcept { return sent_; }

  private:
    /// Limits the frames that wait for the queue; at the limit no more are made.
    static constexpr std::size_t kMostUnsent = 64;

    bool send(const port::Frame& frame);

    const std::string name_;
    std::mt19937 random_{std::random_device{}()};
    port::IgmpHost igmp_;
    port::ArpHost arp_;
    port::TxQueue queue_;
    rte_mempool* pool_ = nullptr;
    std::vector<std::unique_ptr<FrameRing>> rings_;
    std::deque<port::Frame> unsent_;
    std::uint64_t sent_ = 0;
    bool reported_conflict_ = false;
};

}  // namespace spead::runtime
