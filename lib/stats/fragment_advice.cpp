// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "base/shell_word.hpp"
#include "stats/advice.hpp"

/// Writes the actions for packets that come as IP fragments.
namespace spead::stats {

Cures Advice::reassemble(const PortSnapshot& p, FragmentsAre where) const {
    const std::string& interface = p.settings.interface;
    const bool by_file = !of_.settings.configuration.empty();
    const std::string file = by_file ? shell_word(of_.settings.configuration) : std::string();
    // Where rules steer packets, a port refuses to put fragments together.
    const bool has_rules = !p.steering.empty() && p.steering != "software";
    Cures cures;
    if (!by_file && !of_.settings.by_options) {
        cures.push_back("set `backend` to kernel: the kernel's sockets put fragments together");
    } else if (has_rules || where == FragmentsAre::with_kernel) {
        // Rules match the UDP port, which only first fragments have.
        const std::string device =
            fmt::format("net_kernel0,iface={}", interface.empty() ? "INTERFACE" : interface);
        cures.push_back(for_next_start("[[port]]", p.name, "device", "--port",
                                       !by_file && has_option("--port") ? shell_word(device)
                                                                        : fmt::format("\"{}\"", device),
                                       "") +
                        ": the kernel's sockets put fragments together");
    } else {
        cures.push_back(
            by_file
                ? fmt::format("set `reassemble = true` in [[port]] of {} in {}, and restart", p.name, file)
            : has_option("--reassemble")
                ? std::string("restart with `--reassemble`")
                : std::string(
                      "restart with a configuration file (`run --config FILE`) that has `reassemble = "
                      "true` in [[port]]"));
        if (std::ranges::any_of(of_.streams, [&p](const auto& s) {
                return s.comes_by(p.name) && s.settings.cpus.size() > 1;
            }))
            cures.front() += "; all streams of the port then need one lcore, the same";
        if (p.settings.split != 0)
            cures.front() += fmt::format("; the port cannot split packets then: leave out {} of it",
                                         named("--split", "split"));
    }
    cures.push_back(
        "let the sender's packets fit every MTU on the way: 28 bytes of one are headers, and 48 of IPv6" +
        (interface.empty() ? std::string()
                           : fmt::format("; `ip link show {}` shows the one here", shell_word(interface))));
    return cures;
}

}  // namespace spead::stats
