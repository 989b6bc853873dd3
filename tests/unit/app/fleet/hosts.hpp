// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/fleet/host_look.hpp"

/// Makes looks at processes, for the tests of fleets.
namespace spead::test {

/// Returns the look at a process that receives `endpoints` of the 6 of plan "ta", 10 s after its start.
inline app::HostLook host(const std::string& name, const std::string& shard, std::uint64_t endpoints,
                          std::uint64_t lost = 0) {
    app::HostLook look;
    look.target = {name, shard};
    look.plan = "ta";
    look.shard = shard;
    look.endpoints = endpoints;
    look.endpoints_all = 6;
    look.bytes_per_second = 1e9;
    look.packets_per_second = 1e6;
    look.heaps_lost = lost;
    look.run_seconds = 10;
    return look;
}

}  // namespace spead::test
