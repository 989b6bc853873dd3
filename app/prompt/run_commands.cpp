// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "app/prompt/context.hpp"
#include "app/prompt/save_file.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/edit.hpp"

/// Adds commands for actions that are no part of the configuration.
namespace spead::app {

namespace {

void port_stop(Context& context, const Call& call) {
    context.process.stop_port(call.value("PORT"));
    context.session.print(
        fmt::format("port {} is stopped; its streams and senders wait\n", call.value("PORT")));
}

void port_start(Context& context, const Call& call) {
    context.process.start_port(call.value("PORT"));
    context.session.print(fmt::format("port {} runs again\n", call.value("PORT")));
}

/// Returns the capture's options by the file's own rules for [receive.capture].
capture::Options capture_options(Context& context, const Call& call) {
    std::vector<config::Setting> settings = call.settings;
    for (const auto& [key, value] : settings)
        if (!key.starts_with("capture.") || key == "capture.files")
            throw_usage(key,
                        "it is not a key of [receive.capture]; give capture.rotate_size, capture.count ...");
    const std::string file = file_from(context.session.directory, call.value("FILE"));
    settings.emplace_back("capture.files", file);
    const std::string stream = call.value("STREAM");
    const runtime::Plan plan = config::set_stream(context.process.plan(), stream, settings);
    const auto found = std::find_if(plan.receives.begin(), plan.receives.end(),
                                    [&stream](const runtime::ReceivePlan& r) { return r.name == stream; });
    return found->capture.value();
}

void capture_start(Context& context, const Call& call) {
    const capture::Options options = capture_options(context, call);
    context.process.start_capture(call.value("STREAM"), options);
    context.session.print(
        fmt::format("stream {} is captured to {}\n", call.value("STREAM"), options.files.front()));
}

void capture_stop(Context& context, const Call& call) {
    const stats::CaptureSnapshot c = context.process.stop_capture(call.value("STREAM"));
    const std::string counts = fmt::format("{} captured, {} written, {} had no room",
                                           counted(c.taken, "packets"), c.written, c.dropped_full);
    if (!c.failure.empty())
        throw_error("stream " + call.value("STREAM"), "its capture is over; {}: {}", counts, c.failure);
    context.session.print(fmt::format("stream {}: {}\n", call.value("STREAM"), counts));
}

void dummy(Context& context, const Call& call) {
    const auto packets =
        static_cast<std::uint32_t>(parse_integer(call.value("PACKETS", "64"), 1, kMostPackets, "dummy"));
    const send::DummyResult r = context.process.dummy(call.value("SEND"), packets);
    if (r.packets == 0)
        throw_error(call.value("SEND"), "no packet was made: {}",
                    r.why_not == nullptr ? "nothing is free" : r.why_not);
    context.session.print(fmt::format("sender {}: {} made {} and freed, none left{}\n", call.value("SEND"),
                                      counted(r.packets, "packets"),
                                      r.of_heap ? "of the next heap" : "of a small heap",
                                      r.driver ? "" : "; the driver's own code was not run"));
}

}  // namespace

void add_run_commands(std::vector<PromptCommand>& commands) {
    commands.push_back({"port stop PORT", "leave a port's groups and stop it",
                        "    Its streams and senders wait until it is started again.", port_stop});
    commands.push_back({"port start PORT", "start a port again that was stopped", "", port_start});
    commands.push_back({"capture start STREAM FILE [KEY VALUE]...",
                        "write a stream's packets to a pcap file while it is received",
                        "    Heaps are received as before. KEY and VALUE are those of [receive.capture]: "
                        "capture.count 100000\n    "
                        "capture.duration 10s capture.rotate_size 1GiB capture.snap_length 128 "
                        "capture.direct_io true",
                        capture_start});
    commands.push_back(
        {"capture stop STREAM", "end a capture, after its buffer is written", "", capture_stop});
    commands.push_back({"dummy SEND [PACKETS]", "make packets and free them again, to warm the caches",
                        "    64 packets if no number is given. No packet leaves the port (docs/hooks.md).",
                        dummy});
}

}  // namespace spead::app
