// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/default_port.hpp"
#include "base/mac.hpp"
#include "replay/options.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Holds the options of `replay`, before its ports and addresses are known.
struct ReplayOptions {
    replay::Options replay;
    std::string port;
    std::uint32_t mtu = 0;              ///< of the port; 0: the driver's limit
    std::vector<std::string> words;     ///< files as typed
    std::string to;                     ///< GROUP:PORT; empty: the original destinations
    std::vector<std::string> maps;      ///< OLD=NEW
    std::optional<MacAddress> dst_mac;  ///< of unicast destinations
    bool own_source = false;
    double speed = 1;
    std::optional<double> rate;
    double pps = 0;
    double duration = 0;
    std::optional<unsigned> lcore;
    std::string impair;                   ///< port::Impairments of sent packets; empty: none
    std::optional<double> lcore_timeout;  ///< seconds; 0: never; none: the default
};

void add_replay_options(CLI::App& app, ReplayOptions& options);

/// Fills in `replay` and the port. Throws UsageError naming the option.
void complete_replay(ReplayOptions& options, const DefaultPort& default_port);

}  // namespace spead::app
