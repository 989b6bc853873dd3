// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/plan.hpp"

namespace spead::runtime {

/// Ends the names of ports that the configuration makes for streams with `backend = "kernel"`.
inline constexpr std::string_view kKernelPortSuffix = "-kernel";

/// Describes the steps from the plan that runs to another plan. Pure.
struct Change {
    enum class Kind : std::uint8_t {
        none,       ///< nothing that affects its packets
        endpoints,  ///< endpoints were added, removed or changed; all else stays
        lanes       ///< received anew (other lcores, windows, queues), or begins, or ends
    };
    struct Receive {
        std::optional<std::size_t> before;  ///< index in the plan that runs; none: new
        Kind kind = Kind::none;
        bool new_sink = false;  ///< the former sink is finished
    };

    struct Send {
        std::optional<std::size_t> before;  ///< index in the plan that runs; none: new
    };

    std::vector<Receive> receives;           ///< in the wanted plan's order
    std::vector<std::size_t> removed;        ///< indices in the plan that runs
    std::vector<Send> sends;                 ///< in the wanted plan's order
    std::vector<std::size_t> removed_sends;  ///< indices in the plan that runs
};

/// Says whether ports can be opened while the program runs.
enum class NewPorts : std::uint8_t { refused, welcome };

/// Compares two plans. Brings the ports of `wanted` into the order of `now`, with new ones behind them.
/// Throws Error that names a difference that cannot be made during a run.
Change compare(const Plan& now, Plan& wanted, NewPorts new_ports = NewPorts::refused);

}  // namespace spead::runtime
