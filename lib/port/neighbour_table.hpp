// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/mac.hpp"

namespace spead::port {

/// Holds the times of a NeighbourTable.
struct NeighbourTimes {
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    static constexpr std::chrono::milliseconds kAskInterval{1000};  ///< while there is no reply
    static constexpr unsigned kFastTries = 3;  ///< requests before the interval becomes kSlowInterval
    static constexpr std::chrono::milliseconds kSlowInterval{5000};
    static constexpr std::chrono::seconds kRefresh{20};  ///< age of a reply at which it is requested again
    static constexpr unsigned kRefreshTries = 3;         ///< the first of them goes to the host alone
};

/// Knows the MAC addresses of the requested hosts, and when to request each of them: what ARP and NDP have in
/// common. It asks until there is a reply. Before a reply grows old it asks again, first the host alone and
/// then everybody. Other hosts are never remembered, so hostile frames cannot fill it.
template <typename Address>
class NeighbourTable : public NeighbourTimes {
  public:
    /// Adds the host, to be asked for at the next step(). Returns whether it is new.
    bool add(const Address& host) { return neighbours_.try_emplace(host).second; }

    /// Returns the last reply; none before the first, and when the host no longer replies.
    std::optional<MacAddress> find(const Address& host) const {
        const auto found = neighbours_.find(host);
        return found == neighbours_.end() ? std::nullopt : found->second.mac;
    }
    /// Returns the number of requests for the host since its last reply.
    unsigned tries(const Address& host) const {
        const auto found = neighbours_.find(host);
        return found == neighbours_.end() ? 0 : found->second.tries;
    }

    /// Notes a reply, or another sign of the host's MAC address, to be asked for again after `lasts`.
    void heard(const Address& host, const MacAddress& mac, Time now, Clock::duration lasts = kRefresh) {
        if (const auto found = neighbours_.find(host); found != neighbours_.end())
            found->second = {mac, 0, now + lasts};
    }

    /// Calls `ask(host, mac)` for the hosts that are due; `mac` of a host that is to be asked alone, or none.
    /// Returns when the next one is due.
    template <typename Ask>
    Time step(Time now, Ask&& ask) {
        Time next = Time::max();
        for (auto& [host, neighbour] : neighbours_) {
            if (neighbour.due <= now)
                request(host, neighbour, now, ask);
            next = std::min(next, neighbour.due);
        }
        return next;
    }

  private:
    struct Neighbour {
        std::optional<MacAddress> mac{};
        unsigned tries = 0;      ///< requests since the last answer
        Time due = Time::min();  ///< of the next request
    };

    template <typename Ask>
    void request(const Address& host, Neighbour& neighbour, Time now, Ask&& ask) {
        if (neighbour.mac && neighbour.tries == kRefreshTries)
            neighbour.mac.reset();
        ask(host, neighbour.tries == 0 ? neighbour.mac : std::nullopt);
        neighbour.tries++;
        neighbour.due = now + (neighbour.tries < kFastTries || neighbour.mac ? kAskInterval : kSlowInterval);
    }

    std::map<Address, Neighbour> neighbours_;
};

}  // namespace spead::port
