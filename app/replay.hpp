// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/stream_options.hpp"
#include "base/mac.hpp"
#include "port/driver.hpp"
#include "replay/options.hpp"

namespace spead::app {

/// What `replay` was told, before its ports and addresses are known.
struct ReplayOptions {
    replay::Options replay;
    std::string port;
    std::uint32_t mtu = 0;              ///< of the port; 0: what the driver takes
    std::vector<std::string> words;     ///< files as they stand
    std::string to;                     ///< GROUP:PORT; empty: where the packets went
    std::vector<std::string> maps;      ///< OLD=NEW
    std::optional<MacAddress> dst_mac;  ///< of unicast destinations
    bool own_source = false;
    double speed = 1;
    std::optional<double> rate;
    double pps = 0;
    double duration = 0;
    std::optional<unsigned> lcore;
    std::string impair;  ///< port::Impairments of what is sent; empty: none
};

void add_replay_options(CLI::App& app, ReplayOptions& options);

/// Fills in `replay` and the port. Throws UsageError naming the option.
void complete_replay(ReplayOptions& options, const DefaultPort& default_port);

/// Sends the captures; the program's exit status. `json_path` and `quiet` are those of every command. The
/// replay ends when its lcore has not answered for `lcore_patience`.
int replay(const ReplayOptions& options, const std::vector<std::string>& eal_args,
           const std::string& json_path, bool quiet, bool check,
           std::chrono::steady_clock::duration lcore_patience);

}  // namespace spead::app
