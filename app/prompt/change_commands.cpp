// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/context.hpp"
#include "app/prompt/save_file.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "config/edit.hpp"
#include "config/path_rules.hpp"
#include "config/shards.hpp"
#include "runtime/paths.hpp"

/// Adds commands that change the running process.
namespace spead::app {

namespace {

using runtime::Plan;

constexpr const char* kStreamDetails =
    "    KEY and VALUE are those of [[receive]] in the configuration file (docs/configuration.md), a table's "
    "key\n"
    "    with the table before it: lcores 2,3 heaps.queue_depth 512 sink.kind file sink.directory out\n"
    "    `default` for a value removes the key.";
constexpr const char* kSendDetails =
    "    KEY and VALUE are those of [[send]] in the configuration file (docs/configuration.md):\n"
    "    rate 10Gbps ttl 4 heap_size 1MiB verify true\n"
    "    `default` for a value removes the key.";
constexpr const char* kSendSetDetails =
    "    KEY and VALUE are those of [[send]] in the configuration file (docs/configuration.md); of an\n"
    "    existing sender: rate, burst_size, burst_rate_ratio, ttl, dscp, and heaps from its next start on\n"
    "    `default` for a value removes the key.";

std::string settings_text(const std::vector<config::Setting>& settings) {
    std::vector<std::string> parts;
    parts.reserve(settings.size());
    for (const auto& [key, value] : settings)
        parts.push_back(fmt::format("{} {}", key, value));
    return fmt::format("{}", fmt::join(parts, ", "));
}

void stream_add(Context& context, const Call& call) {
    const std::string name = call.value("NAME");
    context.process.change([&](const Plan& plan) {
        return config::add_stream(plan, name, call.value("PORT"), call.value("ENDPOINTS"), call.settings);
    });
    context.session.print(fmt::format("stream {} receives {}\n", name, call.value("ENDPOINTS")));
}

void stream_delete(Context& context, const Call& call) {
    const std::string name = call.value("STREAM");
    context.process.change([&](const Plan& plan) { return config::delete_stream(plan, name); });
    context.session.print(fmt::format("stream {} is deleted\n", name));
}

void stream_set(Context& context, const Call& call) {
    const std::string name = call.value("STREAM");
    context.process.change([&](const Plan& plan) { return config::set_stream(plan, name, call.settings); });
    context.session.print(fmt::format("stream {}: {}\n", name, settings_text(call.settings)));
}

void stream_enable(Context& context, const Call& call, bool enabled) {
    const std::string name = call.value("STREAM");
    context.process.change([&](Plan plan) {
        std::vector<std::string> starting;
        for (runtime::ReceivePlan& r : plan.receives)
            if ((name == "all" || r.name == name) && std::exchange(r.enabled, enabled) != enabled)
                starting.push_back(r.name);
        // Another stream may have had its endpoints meanwhile.
        config::check_endpoints_once(plan, {}, starting);
        return plan;
    });
    context.session.print(fmt::format("{} {}\n", name == "all" ? "all streams are" : "stream " + name + " is",
                                      enabled ? "received" : "stopped; its counters stay"));
}

/// Returns ", on both paths" if the stream has two.
std::string_view on_paths(const Plan& plan, const std::string& stream) {
    const auto found = std::find_if(plan.receives.begin(), plan.receives.end(),
                                    [&stream](const runtime::ReceivePlan& r) { return r.name == stream; });
    return found != plan.receives.end() && runtime::has_two_paths(*found) ? ", on both paths" : "";
}

void endpoint_add(Context& context, const Call& call) {
    const std::string stream = call.value("STREAM");
    std::string_view paths;
    context.process.change([&](const Plan& plan) {
        paths = on_paths(plan, stream);
        return config::add_endpoints(plan, stream, call.value("ENDPOINTS"));
    });
    context.session.print(
        fmt::format("stream {} also receives {}{}\n", stream, call.value("ENDPOINTS"), paths));
}

void endpoint_delete(Context& context, const Call& call) {
    const std::string stream = call.value("STREAM");
    std::string_view paths;
    context.process.change([&](const Plan& plan) {
        paths = on_paths(plan, stream);
        return config::delete_endpoints(plan, stream, call.value("ENDPOINTS"));
    });
    context.session.print(
        fmt::format("stream {} no longer receives {}{}\n", stream, call.value("ENDPOINTS"), paths));
}

void send_add(Context& context, const Call& call) {
    const std::string name = call.value("NAME");
    context.process.change([&](const Plan& plan) {
        return config::add_send(plan, name, call.value("PORT"), call.value("ENDPOINTS"), call.settings);
    });
    context.session.print(fmt::format("sender {} sends to {}\n", name, call.value("ENDPOINTS")));
}

void send_delete(Context& context, const Call& call) {
    const std::string name = call.value("SEND");
    context.process.change([&](const Plan& plan) { return config::delete_send(plan, name); });
    context.session.print(fmt::format("sender {} is deleted\n", name));
}

void send_set(Context& context, const Call& call) {
    const std::string name = call.value("SEND");
    context.process.change([&](const Plan& plan) { return config::set_send(plan, name, call.settings); });
    context.session.print(fmt::format("sender {}: {}\n", name, settings_text(call.settings)));
}

void send_enable(Context& context, const Call& call, bool enabled) {
    const std::string name = call.value("SEND");
    context.process.change([&](Plan plan) {
        for (runtime::SendPlan& s : plan.sends)
            if (name == "all" || s.name == name)
                s.enabled = enabled;
        return plan;
    });
    context.session.print(fmt::format("{} {}\n", name == "all" ? "all senders" : "sender " + name,
                                      enabled         ? name == "all" ? "send" : "sends"
                                      : name == "all" ? "are stopped"
                                                      : "is stopped"));
}

void save_config(Context& context, const Call& call) {
    const std::string file = file_from(context.session.directory, call.value("FILE"));
    save_file(file, config::own_file(context.process.plan()), call.has("force"));
    context.session.print(fmt::format("saved: {}\n", file));
}

}  // namespace

void add_change_commands(std::vector<PromptCommand>& commands) {
    const auto enabling = [](auto handler, bool enabled) {
        return [handler, enabled](Context& context, const Call& call) { handler(context, call, enabled); };
    };
    commands.push_back({"stream add NAME port PORT endpoints ENDPOINTS [KEY VALUE]...",
                        "add a stream and receive it", kStreamDetails, stream_add});
    commands.push_back({"stream delete STREAM", "stop a stream and remove it",
                        "    Leaves its groups, and gives its heaps to its sink first.", stream_delete});
    commands.push_back(
        {"stream start STREAM|all", "receive a stopped stream again", "", enabling(stream_enable, true)});
    commands.push_back({"stream stop STREAM|all", "leave a stream's groups and keep its counters", "",
                        enabling(stream_enable, false)});
    commands.push_back({"stream set STREAM KEY VALUE [KEY VALUE]...",
                        "change a stream: lcores, poll, heaps, sink", kStreamDetails, stream_set});
    commands.push_back({"endpoint add STREAM ENDPOINTS", "add endpoints to a stream",
                        "    A range of 16 groups: 239.1.2.0+15:7148; only from one sender: "
                        "239.1.2.3:7148@10.0.0.7",
                        endpoint_add});
    commands.push_back(
        {"endpoint delete STREAM ENDPOINTS", "remove endpoints from a stream", "", endpoint_delete});
    commands.push_back({"send add NAME port PORT endpoints ENDPOINTS [KEY VALUE]...", "add a sender",
                        kSendDetails, send_add});
    commands.push_back({"send delete SEND", "stop a sender and remove it",
                        "    Sends its heaps in flight and the stop heaps first.", send_delete});
    commands.push_back({"send start SEND|all", "send again", "", enabling(send_enable, true)});
    commands.push_back(
        {"send stop SEND|all", "stop sending after the heaps in flight", "", enabling(send_enable, false)});
    commands.push_back({"send set SEND KEY VALUE [KEY VALUE]...", "change a sender: rate, ttl, dscp, heaps",
                        kSendSetDetails, send_set});
    commands.push_back(
        {"save config FILE [force]", "write the current configuration",
         "    `dpdk-spead run --config FILE` then does the same. With `force` after the name, an existing\n"
         "    file is replaced.",
         save_config});
}

}  // namespace spead::app
