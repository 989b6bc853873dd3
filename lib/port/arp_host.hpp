// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "port/igmp_host.hpp"
#include "wire/arp.hpp"

namespace spead::port {

/// Address resolution by ourselves, on ports that the kernel does not see (RFC 826, RFC 5227).
///
/// Answers requests for our address, announces it, and finds the MAC addresses of the hosts it is asked to
/// resolve: it asks until there is an answer, and goes on asking, first the host alone and then everybody,
/// before an answer grows old. Hosts that nobody asked for are never remembered.
///
/// Pure: time comes from outside and frames go out through step(); nothing waits. Control world, one thread;
/// frames are hostile, and what they cost and occupy is bounded.
class ArpHost {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    static constexpr std::chrono::milliseconds kAskInterval{1000};  ///< while there is no answer
    static constexpr unsigned kFastTries = 3;  ///< so many requests, then one every kSlowInterval
    static constexpr std::chrono::milliseconds kSlowInterval{5000};
    static constexpr std::chrono::seconds kRefresh{20};  ///< an answer this old is asked for again
    static constexpr unsigned kRefreshTries = 3;         ///< of which the first goes to the host alone
    static constexpr unsigned kAnnouncements = 2;
    static constexpr std::chrono::milliseconds kAnnounceInterval{2000};
    static constexpr std::size_t kAnswersPerStep = 16;

    explicit ArpHost(const wire::LinkAddress& own) : own_(own) {}

    /// Tells everybody our address, beginning with the next step(). Nothing without an address.
    void announce();
    /// Asks for the host's MAC address from the next step() on, for ever.
    void resolve(Ipv4 host);

    /// The last answer; none before the first, and when the host does not answer any more.
    std::optional<MacAddress> find(Ipv4 host) const;
    /// Requests sent for the host since its last answer.
    unsigned tries(Ipv4 host) const;

    void receive(std::span<const std::uint8_t> frame, Time now);

    /// Does what is due at `now`, which never goes back, and returns the frames to send: one for each host
    /// asked for, one announcement, and kAnswersPerStep answers at most.
    std::vector<Frame> step(Time now);
    /// When step() is to be called next; Time::max() when nothing is pending.
    Time next() const noexcept { return next_; }

    /// Another host says that it has our address; its MAC address, the last one.
    const std::optional<MacAddress>& conflict() const noexcept { return conflict_; }
    /// Requests for our address that were not answered because too many came at once.
    std::uint64_t unanswered() const noexcept { return unanswered_; }

  private:
    struct Neighbour {
        std::optional<MacAddress> mac{};
        unsigned tries = 0;      ///< requests since the last answer
        Time due = Time::min();  ///< of the next request
    };

    void ask(Ipv4 host, Neighbour& neighbour, Time now, std::vector<Frame>& out) const;
    void push(std::vector<Frame>& out, const MacAddress& to, const wire::ArpPacket& packet) const;

    wire::LinkAddress own_;
    std::map<Ipv4, Neighbour> neighbours_;
    std::vector<wire::ArpPacket> answers_;  ///< to these requests
    unsigned announcements_ = 0;            ///< still to be sent
    Time announce_due_ = Time::min();
    Time next_ = Time::max();
    std::optional<MacAddress> conflict_;
    std::uint64_t unanswered_ = 0;
};

}  // namespace spead::port
