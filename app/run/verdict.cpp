// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/verdict.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/units.hpp"

namespace spead::app {

LoopbackVerdict judge_loopback(const stats::Snapshot& snapshot, runtime::EndReason reason) {
    std::uint64_t sent = 0;
    std::uint64_t besides = 0;
    std::uint64_t complete = 0;
    std::uint64_t verified = 0;
    std::uint64_t wrong = 0;
    std::uint64_t bytes = 0;
    stats::ActiveTime active;
    for (const stats::SendSnapshot& send : snapshot.sends) {
        sent += send.counters.heaps;
        besides += send.counters.control_heaps;  // descriptors in heaps of their own are received like data
    }
    for (const stats::StreamSnapshot& stream : snapshot.streams) {
        complete += stream.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)];
        verified += stream.heaps_verified;
        wrong += stream.heaps_wrong;
        bytes += stream.bytes;
        active.add(stream.active);
    }
    const bool same = complete >= sent && complete <= sent + besides && verified == sent && wrong == 0;
    const bool nothing = sent == 0 && reason != runtime::EndReason::interrupted;
    const double seconds = active.ticks() != 0 && snapshot.ticks_per_second > 0
                               ? static_cast<double>(active.ticks()) / snapshot.ticks_per_second
                               : snapshot.duration_s;
    return {same && !nothing,
            fmt::format(
                "loopback: {} sent, {} complete, {} verified, {} wrong; {} in {} ({}){}",
                counted(sent, "heaps"), complete, verified, wrong, human_size(bytes), human_duration(seconds),
                human_bit_rate(seconds > 0 ? static_cast<double>(bytes) / seconds : 0),
                same && nothing ? "; nothing was verified, because no heap was sent in that time" : "")};
}

std::vector<std::string> verification_problems(const runtime::Plan& plan, const stats::Snapshot& snapshot) {
    std::vector<std::string> problems;
    for (const stats::StreamSnapshot& s : snapshot.streams) {
        const auto planned =
            std::find_if(plan.receives.begin(), plan.receives.end(),
                         [&s](const runtime::ReceivePlan& receive) { return receive.name == s.name; });
        if (planned == plan.receives.end() || planned->sink.kind != runtime::SinkKind::verify)
            continue;
        const std::uint64_t data = s.received - s.packets[static_cast<std::size_t>(PacketOutcome::control)];
        if (s.heaps_wrong != 0)
            problems.push_back(fmt::format("stream {}: {} {} from the verification sequence", s.name,
                                           counted(s.heaps_wrong, "heaps"),
                                           word_for(s.heaps_wrong, "differs", "differ")));
        else if (data != 0 && s.heaps_verified == 0)
            problems.push_back(fmt::format("stream {}: {} came and not one heap was verified", s.name,
                                           counted(data, "packets")));
    }
    return problems;
}

}  // namespace spead::app
