// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/default_port.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

/// Adds the options of recv, send and loopback, and makes their plans.
namespace spead::app {

/// Holds the typed words of recv, send or loopback, before they become a plan.
struct StreamWords {
    std::vector<std::string> endpoints;
    std::vector<std::string> ports;
    std::vector<std::string> addresses;  ///< of the ports
    runtime::PortPlan port;              ///< the options of every port
    runtime::ReceivePlan receive;        ///< the options of every stream received
    runtime::SendPlan send;
    runtime::MemoryPlan memory;
    runtime::EndPlan end;
    bool joint = false;
    bool two_paths = false;
    bool path_skew_given = false;
    bool history_time_given = false;
    bool max_live_given = false;
    bool history_given = false;
    bool receive_limit_given = false;  ///< --max-heap-bytes
    bool duration_given = false;
    std::vector<std::string> words;  ///< capture: endpoints and files as typed
};

/// Adds its command's options to `app`, as the next ones do. `words` gets the defaults at once and the typed
/// values at the parse.
void add_recv_options(CLI::App& app, StreamWords& words);
void add_send_options(CLI::App& app, StreamWords& words);
void add_loopback_options(CLI::App& app, StreamWords& words);
void add_capture_options(CLI::App& app, StreamWords& words);

/// Makes a validated plan of the words, as the next ones do. Throws UsageError naming the option or the
/// argument.
runtime::Plan recv_plan(const StreamWords& words, const DefaultPort& default_port);
runtime::Plan send_plan(const StreamWords& words, const DefaultPort& default_port);
runtime::Plan loopback_plan(const StreamWords& words);
runtime::Plan capture_plan(const StreamWords& words, const DefaultPort& default_port);

/// Returns the option behind a path of the plan: "--ring-heaps" for "receive[0].heaps.queue_depth".
/// `port_option` is
/// --port or --device. Empty when there is no such option.
std::string option_of(std::string_view path, std::string_view port_option);

}  // namespace spead::app
