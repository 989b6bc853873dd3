// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/sizes.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Describes a port that takes no packets, as far as that explains the cause.
struct PortNature {
    bool link_up = true;
    bool own_ring = false;        ///< a receiver on the same port must take sent packets
    bool needs_peer = false;      ///< another process must take them; `link_up`: whether there is one
    std::uint32_t udp_bytes = 0;  ///< UDP payload of the sender's longest packets
    std::uint32_t header_bytes = port::kIpUdpHeaders;  ///< of IP and UDP
    std::string engine{};  ///< that should take the packets of its receivers, and stands still; empty: none
};

/// Returns the likely causes why such a port takes no packets, most likely first: a clause for an event, and
/// for the fix in a finding.
std::string suspects_of(const PortNature& port);

/// Watches whether one sender is stuck because its port takes no packets. Reports each change once. Pure: the
/// caller passes counts and time, in seconds of the run, never decreasing.
class SendHealth {
  public:
    struct Look {
        bool on = true;             ///< it is enabled, and its port runs
        bool stuck = false;         ///< now (send::Sender::stuck)
        std::uint64_t outages = 0;  ///< so far (SendCounters)
        std::string port{};         ///< its name
        std::string suspects{};     ///< suspects_of(); read only where outages != 0
    };

    /// Returns the changes, oldest first.
    std::vector<stats::LastEvent> update(double now, const Look& look);

    /// Returns "ok" or "stuck"; empty: it does not send.
    std::string state() const { return !on_ ? "" : stuck_ ? "stuck" : "ok"; }
    const std::array<std::uint64_t, stats::kSendEvents>& events() const noexcept { return events_; }
    const std::optional<stats::LastEvent>& last_event() const noexcept { return last_; }
    /// Returns the suspects of the last time that it was stuck.
    const std::string& suspects() const noexcept { return suspects_; }

  private:
    void raise(stats::StreamEvent kind, double now, std::string text);

    bool on_ = false;
    bool stuck_ = false;
    std::uint64_t outages_ = 0;  ///< those that were reported
    double since_ = 0;           ///< time of detection
    std::string suspects_;
    std::vector<stats::LastEvent> news_;
    std::array<std::uint64_t, stats::kSendEvents> events_{};
    std::optional<stats::LastEvent> last_;
};

}  // namespace spead::runtime
