// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "runtime/engine_state.hpp"

/// What a run has counted, as far as its lcores answer.
namespace spead::runtime {

namespace {

template <typename Array>
std::uint64_t sum_of(const Array& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

std::vector<const Part*> parts_of(const Stream& stream) {
    std::vector<const Part*> all;
    for (const auto& part : stream.parts)
        all.push_back(part.get());
    for (const Leaving& leaving : stream.leaving)
        all.push_back(leaving.part.get());
    return all;
}

/// What the stream's parts had counted when their lcores last answered, and its sinks.
void add_parts(const Stream& stream, stats::StreamSnapshot& to) {
    for (const Part* const part : parts_of(stream))
        to.add(part->counts, part->taken);
    const auto add_sink = [&to](const Sink& sink) {
        to.heaps_verified += sink.verified();
        to.heaps_wrong += sink.wrong();
    };
    if (stream.sink)
        add_sink(*stream.sink);
    for (const auto& sink : stream.old_sinks)
        add_sink(*sink);
}

}  // namespace

void Engine::State::lose(Worker& w) {
    w.lost = true;
    problems.push_back(fmt::format(
        "lcore {} does not answer; what it did since it last answered is not counted", w.layout->lcore));
}

bool Engine::State::any_lost() const {
    return std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w->lost; });
}

stats::Snapshot Engine::snapshot() {
    return state_->take_snapshot();
}

stats::Snapshot Engine::State::take_snapshot() {
    stats::Snapshot snap;
    snap.duration_s = stopped   ? duration
                      : started ? std::chrono::duration<double>(Clock::now() - begin).count()
                                : 0;
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        stats::StreamSnapshot s;
        s.name = plan.receives[i].name;
        s.endpoints = plan.receives[i].endpoint_texts;
        s.add(streams[i]->past);
        snap.streams.push_back(std::move(s));
    }
    snap.removed = removed;
    for (const auto& s : removed_streams)
        snap.removed.add(s->past);
    for (std::size_t i = 0; i < plan.sends.size(); i++)
        snap.sends.push_back({plan.sends[i].name, plan.sends[i].endpoint_texts, {}, 0});
    for (const auto& p : ports) {
        stats::PortSnapshot s;
        s.name = p->name();
        s.driver = p->driver_name();
        s.steering = port::name_of(p->capabilities().steering);
        s.nic = p->nic();
        snap.ports.push_back(std::move(s));
    }
    for (std::size_t i = 0; i < hosts.size(); i++)
        if (hosts[i])
            snap.ports[i].tx_host_frames = hosts[i]->sent();
    for (const auto& w : workers) {
        Worker::Counts& counts = w->counts;
        ask(*w, [&] {
            for (Part* const part : w->parts) {
                part->counts = part->lane->counters;
                part->taken = part->lane->queue.taken();
            }
            for (std::size_t n = 0; n < w->sources.size(); n++)
                counts.ports[n] = w->sources[n]->counters;
            for (std::size_t n = 0; n < counts.sends.size(); n++)
                counts.sends[n] = sends[w->layout->sends[n]].sender->counters();
        });
        for (std::size_t n = 0; n < w->sources.size(); n++)
            snap.ports[w->source_ports[n]].add(counts.ports[n]);
        snap.lcores.push_back(share_of(*w));
        for (std::size_t n = 0; n < counts.sends.size(); n++)
            snap.sends[w->layout->sends[n]].counters = counts.sends[n];
    }
    for (std::size_t i = 0; i < streams.size(); i++)
        add_parts(*streams[i], snap.streams[i]);
    for (const auto& s : removed_streams)
        add_parts(*s, snap.removed);
    for (std::size_t i = 0; i < plan.sends.size(); i++) {
        stats::SendSnapshot& s = snap.sends[i];
        stats::PortSnapshot& p = snap.ports[sends[i].port];
        p.tx_packets += s.counters.packets;
        p.tx_bytes += s.counters.frame_bytes;
        p.tx_dropped += s.counters.dropped;
        s.control_heaps = s.counters.control_heaps;
    }
    for (std::size_t i = 0; i < last_rules.size(); i++)
        snap.ports[i].rules = last_rules[i];
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
        for (const Part* const part : parts_of(s))
            if (part->worker == &w)
                sum = sum.value_or(0) + sum_of(part->counts.packets);
        return sum;
    };
    for (std::size_t i = 0; i < streams.size(); i++)
        if (const auto sum = received(*streams[i]))
            l.streams.push_back({plan.receives[i].name, *sum});
    l.removed = w.removed;
    for (const auto& s : removed_streams)
        l.removed += received(*s).value_or(0);
    for (std::size_t n = 0; n < w.sources.size(); n++)
        l.ports.push_back({plan.ports[w.source_ports[n]].name, sum_of(w.counts.ports[n].packets)});
    for (const std::size_t i : w.layout->sends)
        l.sends.push_back(plan.sends[i].name);
    return l;
}

/// Before the rules go.
void Engine::State::remember_rules() {
    last_rules = rules_now();
}

std::vector<std::vector<stats::RuleSnapshot>> Engine::State::rules_now() const {
    std::vector<std::vector<stats::RuleSnapshot>> all;
    for (const auto& p : ports) {
        std::vector<stats::RuleSnapshot>& of_port = all.emplace_back();
        for (const port::RuleState& r : p->rules())
            of_port.push_back({to_string(r.rule.endpoint), r.rule.queues, r.text, r.hits});
    }
    return all;
}

}  // namespace spead::runtime
