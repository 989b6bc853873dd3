// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/snapshots.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <rte_cycles.h>

#include "base/privileges.hpp"
#include "runtime/paths.hpp"
#include "stats/since.hpp"

/// Collects the counts of a run, as far as its lcores answer.
namespace spead::runtime {

namespace {

template <typename Array>
std::uint64_t sum_of(const Array& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// Adds the counts of the stream's lanes, of their lcores' last answers.
void add_lanes(const Stream& stream, stats::StreamSnapshot& to) {
    for (const StreamLane* const lane : stream.all_lanes()) {
        const HeapTally::Done done = done_of(*lane);
        to.add(lane->counts, done.delivered, done.unwritten);
    }
    stream.for_each_chunks([&to](const StreamChunks& chunks) { to.chunks.add(chunks.counts()); });
    if (stream.chunks) {
        to.chunks.set_state(stream.chunks->counts());
        to.chunks.at_rest &= stream.former_chunks.empty();
    }
    for (const auto& lane : stream.lanes)
        to.queue_heaps += lane->rx->queue.capacity();
}

/// Adds the counts of chunks that several streams fill. Each shows all of them, and sums take those of one:
/// always the same stream, until it is removed.
void add_group(const std::vector<std::unique_ptr<Stream>>& all, const Stream& stream,
               stats::StreamSnapshot& to) {
    if (!stream.group)
        return;
    ChunkGroup& group = *stream.group;
    const auto teller = std::find_if(all.begin(), all.end(), [&group](const auto& s) {
        return s->group.get() == &group && s->number == group.teller();
    });
    if (teller == all.end())
        group.set_teller(stream.number);
    else if (teller->get() != &stream)
        to.chunks_counted_with = (*teller)->name;
    const stats::ChunkCounts counts = group.counts_of_streams();
    to.chunks.add(counts);
    to.chunks.set_state(counts);
}

/// Adds what chunks lack. Heaps that are tracked into chunks count there.
void add_missing(stats::StreamSnapshot& to) {
    if (!to.chunks_counted_with.empty())
        return;
    to.missing_bytes += to.chunks.missing_bytes;
    to.missing_packets += to.chunks.missing_packets;
}

/// Counts the endpoints that one shard each has. Of a whole plan, these are all.
stats::ShardSnapshot shard_of(const Plan& plan) {
    stats::ShardSnapshot shard;
    const bool whole = plan.shard.count == 0;
    for (const ReceivePlan& r : plan.receives) {
        if (!r.enabled)
            continue;
        if (whole || r.shard != ShardScope::all)
            shard.endpoints_mine += r.endpoints.size();
        else
            shard.shared.push_back(r.name);
    }
    shard.endpoints_all = whole ? shard.endpoints_mine : plan.shard.endpoints;
    if (!whole) {
        shard.index = plan.shard.index;
        shard.count = plan.shard.count;
    }
    return shard;
}

void add_buffers(stats::PortSnapshot& s, const port::Port& p, const stats::PeakRecord& taken) {
    const std::uint32_t size = p.rx_sizes().mbufs;
    const auto free = [size](std::uint64_t most) { return size - static_cast<std::uint32_t>(most); };
    if (taken.empty())
        return;
    const std::uint32_t now = std::min(free(taken.peak().now), s.buffers ? s.buffers->fewest_free_now : size);
    if (!s.buffers || free(taken.peak().ever) < s.buffers->fewest_free)
        s.buffers = {size, free(taken.peak().ever), free(taken.peak().minute), now};
    s.buffers->fewest_free_now = now;
}

}  // namespace

stats::Snapshot Snapshots::take(LcoreLook::Depth depth) {
    stats::Snapshot snap;
    snap.ticks_per_second = static_cast<double>(rte_get_tsc_hz());
    snap.captures = of_.captures.written(of_.streams.current());
    snap.capabilities = permitted_privileges().names();
    snap.by_configuration = by_configuration_;
    snap.duration_s = of_.clock.seconds();
    snap.shard = shard_of(of_.plan);
    add_streams(snap);
    for (std::size_t i = 0; i < of_.ports.size(); i++)
        snap.ports.push_back(of_.ports[i].snapshot());
    add_lcores(snap, depth);
    // After the heaps: packets that are lost before an lcore has them are counted before their heaps are
    // given up.
    for (std::size_t i = 0; i < of_.ports.size(); i++)
        snap.ports[i].nic = of_.ports[i].nic();
    of_.captures.add_taken(of_.streams.current(), snap.captures);
    for (std::size_t i = 0; i < snap.streams.size(); i++) {
        add_lanes(*of_.streams.current()[i], snap.streams[i]);
        add_group(of_.streams.current(), *of_.streams.current()[i], snap.streams[i]);
    }
    for (const auto& s : of_.streams.removed())
        add_lanes(*s, snap.removed);
    for (stats::StreamSnapshot& s : snap.streams)
        add_missing(s);
    add_missing(snap.removed);
    of_.senders.add_to(snap);
    of_.health.add_to(snap, of_.streams.current());
    of_.streams.add_last_events(snap);
    counts_.mark_silent(snap);
    if (depth == LcoreLook::Depth::counts) {
        findings_.follow(snap);
        return snap;
    }
    add_engines(snap);
    add_details(snap);
    return snap;
}

/// Adds the data of streams that is known before their lcores are asked. Heaps that sinks have counted were
/// delivered before.
void Snapshots::add_streams(stats::Snapshot& snap) const {
    for (std::size_t i = 0; i < of_.plan.receives.size(); i++) {
        const ReceivePlan& r = of_.plan.receives[i];
        const Stream& stream = *of_.streams.current()[i];
        stats::StreamSnapshot s;
        s.name = r.name;
        s.number = stream.number;
        s.endpoints = r.endpoint_texts;
        s.has_format = !r.format.empty();
        s.port = r.port;
        // One path is enough.
        const bool waits = all_paths(r, [this](const std::string& port) { return !of_.ports[port].is_on(); });
        s.state = !r.enabled ? "stopped" : waits ? "waiting" : "received";
        if (has_two_paths(r))
            for_each_path(r, [&](std::size_t path, const std::string& port, const auto&) {
                s.path_ports.push_back(port);
                s.path_endpoints.push_back(endpoint_texts_of(r, path));
            });
        s.add(stream.past.sums());
        stream.sinks.add_to(s);
        s.expected_rate = r.expected_rate;
        snap.streams.push_back(std::move(s));
    }
    snap.removed = of_.streams.removed_counts();
    for (const auto& s : of_.streams.removed()) {
        snap.removed.add(s->past.sums());
        s->sinks.add_to(snap.removed);
    }
}

void Snapshots::add_lcores(stats::Snapshot& snap, LcoreLook::Depth depth) {
    for (const auto& w : of_.lcores) {
        counts_.update(*w, depth);
        for (std::size_t n = 0; n < w->sources.size(); n++) {
            const std::size_t port = w->source_ports[n];
            snap.ports[port].add(w->counts.ports[n]);
            if (n < w->peaks.buffers_taken.size())
                add_buffers(snap.ports[port], of_.ports[port].device(), w->peaks.buffers_taken[n]);
        }
        snap.lcores.push_back(snapshot_of(*w));
    }
}

/// Adds the engines, and marks the streams that wait for one.
void Snapshots::add_engines(stats::Snapshot& snap) const {
    for (const auto& [engine, watch] : of_.engines.watches()) {
        stats::EngineSnapshot& e = snap.engines.emplace_back(watch.snapshot());
        for (const std::size_t i : of_.streams.waiting_for(engine, of_.plan.receives)) {
            e.streams.push_back(of_.plan.receives[i].name);
            if (e.stalled_s > 0 && snap.streams[i].state == "received")
                snap.streams[i].health = stats::kStalled;
        }
    }
}

/// Returns the lcore's lane, from its last answer.
stats::LcoreSnapshot Snapshots::snapshot_of(const Worker& w) const {
    stats::LcoreSnapshot l;
    l.lcore = w.layout->lcore;
    l.cpu = w.layout->cpu;
    l.poll = runtime::name_of(w.loop->mode());
    const auto received = [&w](const Stream& s) -> std::optional<std::uint64_t> {
        std::optional<std::uint64_t> sum = w.former.of(s.number);
        for (const StreamLane* const lane : s.all_lanes())
            if (lane->worker == &w)
                sum = sum.value_or(0) + sum_of(lane->counts.packets);
        return sum;
    };
    for (std::size_t i = 0; i < of_.streams.current().size(); i++)
        if (const auto sum = received(*of_.streams.current()[i]))
            l.streams.push_back({of_.plan.receives[i].name, *sum, of_.streams.current()[i]->number});
    l.removed = w.former.of_former_streams();
    for (const auto& s : of_.streams.removed())
        l.removed += received(*s).value_or(0);
    for (std::size_t n = 0; n < w.sources.size(); n++) {
        l.ports.push_back({of_.plan.ports[w.source_ports[n]].name, sum_of(w.counts.ports[n].packets)});
        l.add(w.counts.ports[n]);
    }
    l.counters = w.counts.lcore;
    l.counters.longest_loop = w.peaks.longest_loop.peak().ever;
    l.longest_loop_minute = w.peaks.longest_loop.peak().minute;
    l.longest_loop_now = w.peaks.longest_loop.peak().now;
    for (const auto& s : of_.senders.planned())
        if (s->worker == &w)
            l.sends.push_back(s->plan.name);
    return l;
}

stats::Snapshot Snapshots::take_detailed() {
    stats::Snapshot now = take(LcoreLook::Depth::full);
    findings_.observe(now);
    return now;
}

stats::Snapshot Snapshots::since_cleared(stats::Snapshot snap) const {
    return base_ ? stats::since(std::move(snap), *base_) : snap;
}

void Snapshots::clear() {
    base_ = take(LcoreLook::Depth::full_then_forget);
    counts_.forget_peaks();
    findings_.clear(*base_);
}

void Snapshots::parts_changed(const std::vector<std::string>& names) {
    stats::Snapshot now = take(LcoreLook::Depth::full);
    findings_.changed(now, names);
}

}  // namespace spead::runtime
