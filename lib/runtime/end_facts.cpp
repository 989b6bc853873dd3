// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/end_facts.hpp"

#include <algorithm>

#include "runtime/capture_set.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Returns whether all sent packets have come back to the streams.
bool everything_received(const EndSources& of, const stats::Snapshot& now) {
    return std::all_of(of.plan.receives.begin(), of.plan.receives.end(), [&](const ReceivePlan& r) {
        return all_paths(r, [&](const std::string& port) {
            const std::size_t p = of.ports.index_of(port);
            // Impaired packets do not arrive, or arrive twice.
            std::uint64_t come = now.ports[p].tx_packets;
            for (const SendStream* const s : of.senders.all())
                if (s->port == p)
                    come +=
                        s->counts.impaired_duplicated - s->counts.impaired_lost - s->counts.impaired_dropped;
            return of.ports[p].device().capabilities().receives_own && now.ports[p].rx_packets >= come;
        });
    });
}

/// Returns whether failed sinks (a full disk) end the run: a stream of such a sink asks for that, or nothing
/// else is left to do.
bool sinks_over(const EndSources& of, bool stays) {
    bool any_failed = false;
    bool left =
        stays || std::any_of(of.senders.planned().begin(), of.senders.planned().end(),
                             [](const auto& s) { return s->plan.enabled && !s->heap_source->done(); });
    for (std::size_t i = 0; i < of.streams.current().size(); i++) {
        const ReceivePlan& r = of.plan.receives[i];
        const Stream& s = *of.streams.current()[i];
        if (!r.enabled || (!s.sinks.current() && !s.users))
            continue;
        const bool failed = s.sinks.current() && s.sinks.current()->failed();
        if (failed && r.sink.on_error == OnSinkError::end)
            return true;
        any_failed |= failed;
        left |= (s.capture && !s.capture->over()) || (!failed && !is_exhausted(of.ports, r));
    }
    return any_failed && !left;
}

}  // namespace

EndFacts end_facts(const EndSources& of, const stats::Snapshot& now, bool stays) {
    EndFacts f;
    f.failed = of.lcores.any_lost() || of.consumers.failed() || of.senders.failed() || sinks_over(of, stays);
    f.heaps_used_up = of.consumers.budget_used_up();
    f.captured = of.senders.all().empty() && captures_over(of.streams.current());
    f.seconds = now.duration_s;
    // Packets that belong to no stream keep no run alive; heaps on their way to a slow consumer do.
    for (const stats::StreamSnapshot& s : now.streams) {
        f.progress += s.received + s.heaps_delivered;
        f.queued |= s.heaps_queued != 0;
    }
    // Packets and heaps wait for an engine that stands still; the run is not idle.
    f.silent = of.lcores.any_silent() ||
               std::ranges::any_of(of.streams.current(), [](const auto& s) { return s->waits_for_engine; });
    f.receives = !of.plan.receives.empty();
    f.stop_items = of.plan.end.exit_on_stop && of.streams.all_stopped(of.plan.receives);
    if (stays)
        return f;
    const auto all_streams = [&of](const auto& is) {
        return std::all_of(of.plan.receives.begin(), of.plan.receives.end(), [&](const ReceivePlan& r) {
            return all_paths(r, [&](const std::string& port) { return is(of.ports[port].device()); });
        });
    };
    // A file is not read for a stream that is not enabled.
    f.sources_ended =
        std::all_of(of.plan.receives.begin(), of.plan.receives.end(), [&](const ReceivePlan& r) {
            return all_paths(r, [&](const std::string& port) {
                const port::Port& p = of.ports[port].device();
                return p.exhausted() || (p.capabilities().finite && !r.enabled);
            });
        });
    const bool any_sends =
        std::any_of(of.plan.sends.begin(), of.plan.sends.end(), [](const SendPlan& s) { return s.enabled; });
    f.sent = any_sends && of.senders.done();
    f.all_received = f.sent && everything_received(of, now);
    f.own_only = all_streams([](const port::Port& p) { return p.capabilities().receives_own; });
    return f;
}

}  // namespace spead::runtime
