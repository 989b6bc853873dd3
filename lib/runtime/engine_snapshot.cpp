// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include <rte_cycles.h>

#include "base/privileges.hpp"
#include "runtime/engine_state.hpp"

/// What a run has counted, as far as its lcores answer.
namespace spead::runtime {

namespace {

template <typename Array>
std::uint64_t sum_of(const Array& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// What the stream's parts had counted when their lcores last answered.
void add_parts(const Stream& stream, stats::StreamSnapshot& to) {
    for (const Part* const part : stream.all_parts())
        to.add(part->counts, part->done.delivered, part->done.unwritten);
    for (const auto& part : stream.parts)
        to.queue_heaps += part->lane->queue.capacity();
}

/// What its sinks found. Before the lcores are asked: what has been looked at was delivered before.
void add_sinks(const Stream& stream, stats::StreamSnapshot& to) {
    const auto add_sink = [&to](const Sink& sink) {
        to.heaps_verified += sink.verified();
        to.heaps_wrong += sink.wrong();
    };
    if (stream.sink) {
        add_sink(*stream.sink);
        to.sink_failure = stream.sink->failure();
    }
    for (const auto& sink : stream.old_sinks)
        add_sink(*sink);
}

}  // namespace

std::vector<const Part*> Stream::all_parts() const {
    std::vector<const Part*> all;
    for (const auto& part : parts)
        all.push_back(part.get());
    for (const Leaving& one : leaving)
        all.push_back(one.part.get());
    return all;
}

stats::Snapshot Engine::snapshot() {
    return state_->shown(state_->detailed_snapshot());
}

/// Seconds of the run.
double Engine::State::elapsed() const {
    return stopped ? duration : started ? std::chrono::duration<double>(Clock::now() - begin).count() : 0;
}

stats::Snapshot Engine::State::take_snapshot(LcoreLook::Depth depth) {
    stats::Snapshot snap;
    snap.ticks_per_second = static_cast<double>(rte_get_tsc_hz());
    snap.captures = captures.written(streams);
    snap.capabilities = permitted_privileges().names();
    snap.by_configuration = surroundings.by_configuration;
    snap.duration_s = elapsed();
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        stats::StreamSnapshot s;
        s.name = plan.receives[i].name;
        s.number = streams[i]->number;
        s.endpoints = plan.receives[i].endpoint_texts;
        s.port = plan.receives[i].port;
        s.state = !plan.receives[i].enabled               ? "stopped"
                  : !ports[plan.receives[i].port].is_on() ? "waiting"
                                                          : "received";
        s.add(streams[i]->past);
        add_sinks(*streams[i], s);
        s.expected_rate = plan.receives[i].expected_rate;
        snap.streams.push_back(std::move(s));
    }
    snap.removed = removed;
    for (const auto& s : removed_streams) {
        snap.removed.add(s->past);
        add_sinks(*s, snap.removed);
    }
    for (std::size_t i = 0; i < ports.size(); i++)
        snap.ports.push_back(ports[i].snapshot());
    for (const auto& w : lcores) {
        look_at(*w, depth);
        const Worker::Counts& counts = w->counts;
        for (std::size_t n = 0; n < w->sources.size(); n++) {
            snap.ports[w->source_ports[n]].add(counts.ports[n]);
            if (n < w->buffers_taken.size())
                add_buffers(snap.ports[w->source_ports[n]], ports[w->source_ports[n]].device(),
                            w->buffers_taken[n]);
        }
        snap.lcores.push_back(share_of(*w));
    }
    captures.add_taken(streams, snap.captures);
    for (std::size_t i = 0; i < streams.size(); i++)
        add_parts(*streams[i], snap.streams[i]);
    for (const auto& s : removed_streams)
        add_parts(*s, snap.removed);
    senders.add_to(snap);
    add_health(snap);
    add_last_events(snap);
    mark_silent(snap);
    if (depth != LcoreLook::Depth::counts)
        add_details(snap);
    return snap;
}

/// From what the lcore counted when it last answered.
stats::LcoreSnapshot Engine::State::share_of(const Worker& w) const {
    stats::LcoreSnapshot l;
    l.lcore = w.layout->lcore;
    l.cpu = w.layout->cpu;
    l.poll = runtime::name_of(w.loop->mode());
    const auto received = [&w](const Stream& s) -> std::optional<std::uint64_t> {
        std::optional<std::uint64_t> sum;
        if (const auto past = w.past.find(s.number); past != w.past.end())
            sum = past->second;
        for (const Part* const part : s.all_parts())
            if (part->worker == &w)
                sum = sum.value_or(0) + sum_of(part->counts.packets);
        return sum;
    };
    for (std::size_t i = 0; i < streams.size(); i++)
        if (const auto sum = received(*streams[i]))
            l.streams.push_back({plan.receives[i].name, *sum, streams[i]->number});
    l.removed = w.removed;
    for (const auto& s : removed_streams)
        l.removed += received(*s).value_or(0);
    for (std::size_t n = 0; n < w.sources.size(); n++) {
        l.ports.push_back({plan.ports[w.source_ports[n]].name, sum_of(w.counts.ports[n].packets)});
        l.add(w.counts.ports[n]);
    }
    l.counters = w.counts.lcore;
    l.counters.longest_loop = w.longest_loop.peak().ever;
    l.longest_loop_minute = w.longest_loop.peak().minute;
    l.longest_loop_now = w.longest_loop.peak().now;
    for (const auto& s : senders.planned())
        if (s->worker == &w)
            l.sends.push_back(s->plan.name);
    return l;
}

}  // namespace spead::runtime
