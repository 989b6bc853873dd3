// SPDX-License-Identifier: BSD-3-Clause
#include "port/host.hpp"

#include <fmt/format.h>

namespace spead::port {

bool Host::sees(const NetdevFacts& facts) const {
    return files.number(fmt::format("/sys/class/net/{}/ifindex", facts.name)) == facts.index;
}

const Host& this_host() {
    // Never destroyed: ports may use it while the process ends.
    static const Host& host = *new const Host;
    return host;
}

}  // namespace spead::port
