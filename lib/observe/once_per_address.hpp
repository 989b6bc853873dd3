// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace spead::observe {

/// Lets one line a minute pass for each client, for requests that clients repeat by themselves. One thread.
class OncePerAddress {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kPause = std::chrono::minutes(1);
    /// Limits the addresses that are remembered. If there are more, all are forgotten.
    static constexpr std::size_t kMost = 256;

    /// Returns whether a line may pass. `client`: "ADDRESS:PORT"; the port does not matter. `now` never
    /// decreases.
    bool ask(std::string_view client, Clock::time_point now) {
        std::string address(client.substr(0, client.rfind(':')));
        const auto known = passed_.find(address);
        if (known != passed_.end() && now - known->second < kPause)
            return false;
        if (known == passed_.end() && passed_.size() >= kMost)
            passed_.clear();
        passed_[std::move(address)] = now;
        return true;
    }

  private:
    std::map<std::string, Clock::time_point> passed_;
};

}  // namespace spead::observe
