// SPDX-License-Identifier: BSD-3-Clause
#include "port/machine.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace spead::port {

bool Machine::sees(const NetdevFacts& facts) const {
    return files.number(fmt::format("/sys/class/net/{}/ifindex", facts.name)) == facts.index;
}

const Machine& this_machine() {
    // Never destroyed: ports may use it while the process ends.
    static const Machine& machine = *new const Machine;
    return machine;
}

std::uint64_t socket_buffer_limit(const Machine& machine) {
    return static_cast<std::uint64_t>(
        std::max(std::int64_t{0}, machine.files.number("/proc/sys/net/core/rmem_max").value_or(0)));
}

}  // namespace spead::port
