// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/default_port.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

/// The options of recv, send and loopback, and the plans that they make.
namespace spead::app {

/// What was typed for recv, send or loopback, before it is a plan.
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
    bool receive_limit_given = false;  ///< --max-heap-bytes
    bool duration_given = false;
    std::vector<std::string> words;  ///< capture: endpoints and files as they stand
};

/// Each adds its command's options to `app`; `words` gets the defaults at once and what is typed at the
/// parse.
void add_recv_options(CLI::App& app, StreamWords& words);
void add_send_options(CLI::App& app, StreamWords& words);
void add_loopback_options(CLI::App& app, StreamWords& words);
void add_capture_options(CLI::App& app, StreamWords& words);

/// What was typed -> a validated plan. Each throws UsageError naming the option or the argument.
runtime::Plan recv_plan(const StreamWords& words, const DefaultPort& default_port);
runtime::Plan send_plan(const StreamWords& words, const DefaultPort& default_port);
runtime::Plan loopback_plan(const StreamWords& words);
runtime::Plan capture_plan(const StreamWords& words, const DefaultPort& default_port);

/// The option that a path of the plan came from: "receive[0].heaps.queue_depth" -> "--ring-heaps".
/// `port_option` is
/// --port or --device. Empty when no option stands for it.
std::string option_of(std::string_view path, std::string_view port_option);

}  // namespace spead::app
