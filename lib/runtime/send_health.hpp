// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::runtime {

/// What a port is like that takes nothing, as far as that tells why.
struct PortNature {
    bool link_up = true;
    bool own_ring = false;        ///< a receiver on the same port must take what is sent
    bool needs_peer = false;      ///< another process must; `link_up` says whether there is one
    std::uint32_t udp_bytes = 0;  ///< UDP payload of the sender's longest packets
};

/// Why such a port takes nothing, most likely first: a clause for an event, and for a finding's fix.
std::string suspects_of(const PortNature& port);

/// Watches one sender: is it stuck, because its port takes nothing? Each change is reported once. Pure: time
/// and counts come from outside, the time in seconds of the run, never backwards.
class SendHealth {
  public:
    struct Look {
        bool on = true;             ///< it is to send, and its port runs
        bool stuck = false;         ///< at this moment (send::Sender::stuck)
        std::uint64_t outages = 0;  ///< so far (SendCounters)
        std::string port{};         ///< its name
        std::string suspects{};     ///< suspects_of(); wanted only where outages != 0
    };

    /// What has changed, oldest first.
    std::vector<stats::LastEvent> update(double now, const Look& look);

    /// "ok" or "stuck"; empty: it does not send.
    std::string state() const { return !on_ ? "" : stuck_ ? "stuck" : "ok"; }
    const std::array<std::uint64_t, stats::kSendEvents>& events() const noexcept { return events_; }
    const std::optional<stats::LastEvent>& last_event() const noexcept { return last_; }
    /// Of the last time that it was stuck.
    const std::string& suspects() const noexcept { return suspects_; }

  private:
    void raise(stats::StreamEvent kind, double now, std::string text);

    bool on_ = false;
    bool stuck_ = false;
    std::uint64_t outages_ = 0;  ///< those that were reported
    double since_ = 0;           ///< when it was noticed
    std::string suspects_;
    std::vector<stats::LastEvent> news_;
    std::array<std::uint64_t, stats::kSendEvents> events_{};
    std::optional<stats::LastEvent> last_;
};

}  // namespace spead::runtime
