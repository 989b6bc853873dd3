// SPDX-License-Identifier: BSD-3-Clause
#include "observe/readiness.hpp"

#include <limits>

#include <fmt/core.h>

namespace spead::observe {

namespace {

std::string held_up(std::chrono::duration<double> age) {
    return fmt::format("the numbers are {:.0f} s old: the control thread is held up\n", age.count());
}

}  // namespace

double longest_silence(const std::optional<double>& lcore_timeout) {
    if (!lcore_timeout)
        return kLongestSilence;
    return *lcore_timeout > 0 ? *lcore_timeout : std::numeric_limits<double>::infinity();
}

std::string why_not_alive(const stats::LatestSnapshot::View& view, double longest_silence) {
    std::string why;
    if (!view)
        return why;
    if (view.age > kOldestLife)
        why += held_up(view.age);
    for (const stats::LcoreSnapshot& lcore : view.latest.snapshot->lcores)
        if (lcore.silent_s > longest_silence)
            why += lcore.silence() + "\n";
    return why;
}

std::string why_not_ready(const stats::LatestSnapshot::View& view) {
    if (!view)
        return "the run has not begun\n";
    std::string why;
    const stats::Snapshot& now = *view.latest.snapshot;
    if (view.age > kOldestReadiness)
        why += held_up(view.age);
    for (const stats::PortSnapshot& port : now.ports)
        if (port.state != "running")
            why += fmt::format("port {} is {}\n", port.name, port.state);
    for (const stats::LcoreSnapshot& lcore : now.lcores)
        if (lcore.silent_s > 0)
            why += lcore.silence() + "\n";
    for (const stats::EngineSnapshot& engine : now.engines)
        if (engine.stalled_s > 0)
            why += engine.stall() + "\n";
    for (const stats::StreamSnapshot& stream : now.streams)
        if (stream.state == "waiting")
            why += fmt::format("stream {} waits for port {}\n", stream.name, stream.port);
        else if (stream.state != "received")
            why += fmt::format("stream {} is {}\n", stream.name, stream.state);
    for (const stats::StreamSnapshot& stream : now.streams)
        if (!stream.sink_failure.empty())
            why += fmt::format("the sink of stream {} has failed: {}\n", stream.name, stream.sink_failure);
    // Others are beside their streams, which go on.
    for (const stats::CaptureSnapshot& capture : now.captures)
        if (capture.only && !capture.former && !capture.failure.empty())
            why += fmt::format("the capture of stream {} has failed: {}\n", capture.stream, capture.failure);
    return why;
}

}  // namespace spead::observe
