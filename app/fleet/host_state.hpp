// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/fleet/host_look.hpp"

/// Judges the processes of a fleet: one word for each, and since when. Pure.
namespace spead::app {

/// Says how a process is, the worst first.
enum class HostState : std::uint8_t {
    silent,   ///< it does not answer
    fault,    ///< a port, lcore, stream or sink does not work
    problem,  ///< a finding grows
    losing,   ///< heaps were lost since the look before
    ok,
};

/// Returns the state as a word: "no answer", "fault", "problem", "losing", "ok".
std::string_view word_of(HostState state);

/// Returns the state of a process. `before` is the look before; null: there was none.
HostState state_of(const HostLook& host, const HostLook* before);

/// Returns what is wrong in words: the failure, or the faults and what the findings say. Empty: nothing.
std::vector<std::string> reasons_of(const HostLook& host);

/// Keeps since when each process has had its state. A short recovery of less than kShortest does not count:
/// a loss that comes and goes has one beginning.
class HostStates {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kShortest{5};

    struct Entry {
        HostState state{};
        Clock::time_point since{};  ///< the first look, if it has been so since then
    };

    /// Takes a look at all processes, and returns an entry for each, in their order.
    std::vector<Entry> take(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                            Clock::time_point at);

  private:
    struct Kept {
        Entry entry{};
        Clock::time_point worse_at{};  ///< the last look with this state
    };
    std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace spead::app
