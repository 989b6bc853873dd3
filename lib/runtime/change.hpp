// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/plan.hpp"

namespace spead::runtime {

/// What is to be done to a running process so that it is what another plan says. Pure.
struct Change {
    enum class Kind : std::uint8_t {
        none,       ///< nothing that its packets would notice
        endpoints,  ///< others, or more, or fewer; all else stays
        lanes       ///< it is received anew: other lcores, windows, queues; or begins, or ends
    };
    struct Receive {
        std::optional<std::size_t> before;  ///< index in the plan that runs; none: it is new
        Kind kind = Kind::none;
        bool new_sink = false;  ///< the former one is finished
    };

    struct Send {
        std::optional<std::size_t> before;  ///< index in the plan that runs; none: it is new
    };

    std::vector<Receive> receives;           ///< as those of the wanted plan
    std::vector<std::size_t> removed;        ///< streams of the plan that runs
    std::vector<Send> sends;                 ///< as those of the wanted plan
    std::vector<std::size_t> removed_sends;  ///< senders of the plan that runs
};

/// Whether ports can be opened while the program runs.
enum class NewPorts : std::uint8_t { refused, welcome };

/// `wanted`'s ports are brought into the order of `now`'s, with new ones behind them. Throws Error that names
/// what cannot change during a run.
Change compare(const Plan& now, Plan& wanted, NewPorts new_ports = NewPorts::refused);

}  // namespace spead::runtime
