// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::app {

struct SelftestOptions {
    std::string port;
    /// Where test packets go: a group and a UDP port that nobody minds.
    std::string destination = "239.255.77.77:9";
    bool json = false;
    bool operator==(const SelftestOptions&) const = default;
};

/// `selftest`: tries on a real port what the program will ask of it: every shape of rule, memory registered
/// and given back, every way to wait for packets, packets sent without copying in every number of segments,
/// and the way back where the port has one. Prints what the port is and a line for each step, for a user to
/// send to us. A few dozen packets of at most 1000 bytes leave the port. Starts EAL with `eal_words`. Returns
/// an exit status: 1 when a step failed; what a port does not have is no failure.
int selftest(const SelftestOptions& options, const std::vector<std::string>& eal_words);

}  // namespace spead::app
