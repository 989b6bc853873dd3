// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "port/group_host.hpp"
#include "port/neighbour_table.hpp"
#include "wire/ndp.hpp"

namespace spead::port {

/// Resolves and answers neighbour solicitations on ports that the kernel does not see (RFC 4861): what
/// ArpHost does for IPv4.
///
/// Answers solicitations for our addresses, asks once whether another host has them, announces them, and
/// resolves the MAC addresses of the requested hosts (see NeighbourTable). It uses the addresses at once: a
/// duplicate is noticed (conflict()), and does not take them from us (RFC 4862 would). It is no router, and
/// listens to none.
///
/// Pure: the caller passes the time and frames leave through step(); nothing waits. Control code, one thread;
/// frames are hostile, and their cost and memory are bounded.
class NdpHost : public NeighbourTimes {
  public:
    static constexpr unsigned kAnnouncements = 2;
    /// Holds the time for answers to the question whether an address is taken (RFC 4861 10, RetransTimer).
    static constexpr std::chrono::milliseconds kProbeTime{1000};
    static constexpr std::chrono::milliseconds kAnnounceInterval{2000};
    /// Holds the age at which a MAC address that was not asked for is requested (RFC 4861 10,
    /// DelayFirstProbeTime): it may be forged.
    static constexpr std::chrono::seconds kUnasked{5};
    static constexpr std::size_t kAnswersPerStep = 16;

    /// Takes our link-local address from `own`. `address`: another address of ours; ::: none.
    NdpHost(const wire::LinkAddress& own, const Ipv6& address);

    /// Returns our addresses, the link-local one first.
    const std::vector<Ipv6>& addresses() const noexcept { return addresses_; }

    /// Asks from the next step() on whether our addresses are taken, and announces them kProbeTime later.
    void announce();
    /// Resolves the host's MAC address from the next step() on, without end.
    void resolve(const Ipv6& host);

    /// Returns the last reply; none before the first, and when the host no longer replies.
    std::optional<MacAddress> find(const Ipv6& host) const { return neighbours_.find(host); }
    /// Returns the number of requests for the host since its last reply.
    unsigned tries(const Ipv6& host) const { return neighbours_.tries(host); }

    void receive(std::span<const std::uint8_t> frame, Time now);

    /// Does the work that is due at `now`, which never decreases. Returns the frames to send: one for each
    /// requested host, one for each address, and kAnswersPerStep answers at most.
    std::vector<Frame> step(Time now);
    /// Returns the time of the next step(); Time::max() when nothing is pending.
    Time next() const noexcept { return next_; }

    /// Returns the MAC address of another host that claims an address of ours, the last one.
    const std::optional<MacAddress>& conflict() const noexcept { return conflict_; }
    /// Returns the solicitations for our addresses that were not answered because too many came at once.
    std::uint64_t unanswered() const noexcept { return unanswered_; }

  private:
    bool is_ours(const Ipv6& address) const;
    void hear_advertisement(const wire::NdpPacket& packet, Time now);
    void hear_solicitation(const wire::NdpPacket& packet, Time now);
    void answer(std::vector<Frame>& out, const wire::NdpPacket& solicitation) const;
    void speak_of_ourselves(std::vector<Frame>& out, Time now);
    void ask(std::vector<Frame>& out, const Ipv6& host, const std::optional<MacAddress>& alone) const;
    void push(std::vector<Frame>& out, const MacAddress& to, const wire::NdpPacket& packet) const;

    wire::LinkAddress own_;
    std::vector<Ipv6> addresses_;
    NeighbourTable<Ipv6> neighbours_;
    std::vector<wire::NdpPacket> answers_;  ///< to these solicitations
    bool probe_ = false;                    ///< still to be sent
    unsigned announcements_ = 0;            ///< still to be sent
    Time announce_due_ = Time::min();
    Time next_ = Time::max();
    std::optional<MacAddress> conflict_;
    std::uint64_t unanswered_ = 0;
};

}  // namespace spead::port
