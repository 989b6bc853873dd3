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
#include "wire/arp.hpp"

namespace spead::port {

/// Resolves and answers ARP on ports that the kernel does not see (RFC 826, RFC 5227).
///
/// Answers requests for our address, announces it, and resolves the MAC addresses of the requested hosts (see
/// NeighbourTable).
///
/// Pure: the caller passes the time and frames leave through step(); nothing waits. Control code, one thread;
/// frames are hostile, and their cost and memory are bounded.
class ArpHost : public NeighbourTimes {
  public:
    static constexpr unsigned kAnnouncements = 2;
    static constexpr std::chrono::milliseconds kAnnounceInterval{2000};
    static constexpr std::size_t kAnswersPerStep = 16;

    explicit ArpHost(const wire::LinkAddress& own) : own_(own) {}

    /// Announces our address from the next step() on. Does nothing without an address.
    void announce();
    /// Resolves the host's MAC address from the next step() on, without end.
    void resolve(Ipv4 host);

    /// Returns the last reply; none before the first, and when the host no longer replies.
    std::optional<MacAddress> find(Ipv4 host) const { return neighbours_.find(host); }
    /// Returns the number of requests for the host since its last reply.
    unsigned tries(Ipv4 host) const { return neighbours_.tries(host); }

    void receive(std::span<const std::uint8_t> frame, Time now);

    /// Does the work that is due at `now`, which never decreases. Returns the frames to send: one for each
    /// requested host, one announcement, and kAnswersPerStep answers at most.
    std::vector<Frame> step(Time now);
    /// Returns the time of the next step(); Time::max() when nothing is pending.
    Time next() const noexcept { return next_; }

    /// Returns the MAC address of another host that claims our address, the last one.
    const std::optional<MacAddress>& conflict() const noexcept { return conflict_; }
    /// Returns the requests for our address that were not answered because too many came at once.
    std::uint64_t unanswered() const noexcept { return unanswered_; }

  private:
    void push(std::vector<Frame>& out, const MacAddress& to, const wire::ArpPacket& packet) const;

    wire::LinkAddress own_;
    NeighbourTable<Ipv4> neighbours_;
    std::vector<wire::ArpPacket> answers_;  ///< to these requests
    unsigned announcements_ = 0;            ///< still to be sent
    Time announce_due_ = Time::min();
    Time next_ = Time::max();
    std::optional<MacAddress> conflict_;
    std::uint64_t unanswered_ = 0;
};

}  // namespace spead::port
