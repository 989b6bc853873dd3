// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/end_conditions.hpp"

namespace spead::runtime {

namespace {

/// Limits the wait for packets that this run sent and that were lost on the way.
constexpr auto kOwnPackets = std::chrono::seconds(1);

}  // namespace

std::optional<EndReason> EndConditions::check(const EndPlan& plan, const EndFacts& now,
                                              Clock::time_point time) {
    if (now.failed)
        return EndReason::failure;
    if (now.heaps_used_up)
        return EndReason::heaps;
    if (now.captured)
        return EndReason::captured;
    if (plan.duration > 0 && now.seconds >= plan.duration)
        return EndReason::duration;

    if (now.progress != last_progress_ || now.silent)
        unchanged_.restart(time);
    last_progress_ = now.progress;
    const Clock::duration idle = unchanged_.add(time);
    if (plan.idle_exit > 0 && now.progress != 0 &&
        std::chrono::duration<double>(idle).count() >= plan.idle_exit)
        return EndReason::idle;
    if (plan.exit_on_stop && now.receives && now.stop_items)
        return EndReason::stop_items;

    if (stays_)
        return std::nullopt;
    if (now.receives && now.sources_ended)
        return EndReason::end_of_data;
    if (now.sent &&
        (!now.receives || now.all_received || (now.own_only && !now.queued && idle > kOwnPackets)))
        return EndReason::sent;
    return std::nullopt;
}

const char* name_of(EndReason reason) {
    switch (reason) {
        case EndReason::interrupted:
            return "interrupted";
        case EndReason::heaps:
            return "the requested number of heaps was delivered";
        case EndReason::captured:
            return "the captures are over";
        case EndReason::duration:
            return "the duration is over";
        case EndReason::idle:
            return "no packet came for the given time";
        case EndReason::stop_items:
            return "every endpoint has seen a stop item";
        case EndReason::end_of_data:
            return "the source ended";
        case EndReason::sent:
            return "everything was sent";
        case EndReason::failure:
            break;
    }
    return "something failed";
}

}  // namespace spead::runtime
