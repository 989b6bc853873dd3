// SPDX-License-Identifier: BSD-3-Clause
#include "port/machine.hpp"

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

}  // namespace spead::port
