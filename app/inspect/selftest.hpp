// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::app {

struct SelftestOptions {
    std::string port;  ///< empty with `gpu`: none
    /// Holds the destination of test packets: a group and a UDP port without other use.
    std::string destination = "239.255.77.77:9";
    bool gpu = false;  ///< try the first GPU, too; without a port, it alone
    bool json = false;
    bool operator==(const SelftestOptions&) const = default;
};

/// Runs `selftest`: tests on a real port everything that the program needs from it. These are every shape of
/// rule, memory registered and released, every way to wait for packets, packets sent without copying in every
/// number of segments, and their return if the port supports it. Prints the port's facts and a line for each
/// step, for a user to send to us. Tries the first GPU before that, if asked to. A few dozen packets of at
/// most 1000 bytes leave the port. Starts EAL with `eal_words`. Returns an exit status: 1 when a step failed;
/// a missing feature is no failure.
int selftest(const SelftestOptions& options, const std::vector<std::string>& eal_words);

}  // namespace spead::app
