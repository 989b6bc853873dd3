// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_channels.hpp"

#include <unistd.h>

#include <fmt/core.h>

#include "app/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace spead::app {

namespace {

/// Returns the name of the socket of "auto". Shards of one plan have one name, and may run on one machine.
std::string socket_name(const runtime::Plan& plan) {
    const runtime::ShardOf& shard = plan.shard;
    return shard.count > 1 ? fmt::format("{}-{}", plan.runtime.name, shard.index) : plan.runtime.name;
}

std::optional<ControlSocket> control_socket(const RunOptions& options) {
    const std::string& control = options.plan.runtime.control;
    if (!options.wants_control())
        return std::nullopt;
    try {
        return std::make_optional<ControlSocket>(socket_path(
            control.empty() ? "auto" : control, socket_name(options.plan), process_environment, geteuid()));
    } catch (const Error& error) {
        if (!control.empty())
            throw;
        log_notice(LogType::app, "there is no control socket; the run goes on without one: {}", error.what());
        return std::nullopt;
    }
}

}  // namespace

RunChannels::RunChannels(const RunOptions& options)
    : signals(options.by_configuration() ? process::StopSignals::Hangup::reloads
                                         : process::StopSignals::Hangup::ends),
      hangups(options.by_configuration()),
      socket(control_socket(options)),
      service(process_environment, getpid()) {}

}  // namespace spead::app
