// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include <rte_cycles.h>

#include "runtime/engine_state.hpp"
#include "stats/since.hpp"

/// What explains the counts of a snapshot: times of heaps, high-water marks, senders; and clearing it all.
namespace spead::runtime {

void Engine::State::fit_details(Worker& w) {
    w.counts.details.lanes.resize(w.lanes.size());
    w.counts.details.sources.resize(w.sources.size());
    for (std::size_t n = 0; n < w.lanes.size(); n++)
        w.counts.details.lanes[n].fit(*w.lanes[n]);
}

/// On the lcore, as everything of a worker that is not const.
void Engine::State::take_details(Worker& w) noexcept {
    Details& details = w.counts.details;
    for (std::size_t n = 0; n < details.lanes.size(); n++)
        details.lanes[n].take(*w.lanes[n]);
    for (std::size_t n = 0; n < details.sources.size(); n++)
        details.sources[n].take(*w.sources[n]);
}

/// On the lcore.
void Engine::State::forget_peaks(Worker& w) noexcept {
    for (const auto& lane : w.lanes)
        lane->forget_peaks();
    for (const auto& source : w.sources)
        source->forget_peaks();
    w.loop->counters().longest_loop = 0;
}

namespace {

/// Whichever lcore came closest to its limit is told.
void raise(std::uint64_t& limit, std::uint64_t& most, std::uint64_t of, std::uint64_t reached) {
    if (limit == 0 || static_cast<double>(reached) * static_cast<double>(limit) >
                          static_cast<double>(most) * static_cast<double>(of)) {
        limit = of;
        most = reached;
    }
}

void add_endpoints(stats::StreamSnapshot& s, const recv::SpeadLane& lane, const LaneDetails& details) {
    const std::vector<Endpoint>& endpoints = lane.config.endpoints;
    for (std::size_t e = 0; e < details.endpoints.size(); e++) {
        if (e == s.by_endpoint.size() || s.by_endpoint[e].name != to_string(endpoints[e]))
            s.by_endpoint.insert(s.by_endpoint.begin() + static_cast<std::ptrdiff_t>(e),
                                 {to_string(endpoints[e]), 0, 0});
        s.by_endpoint[e].packets += details.endpoints[e].packets;
        s.by_endpoint[e].bytes += details.endpoints[e].bytes;
    }
}

/// All senders of a port, over its queues.
using Senders = std::map<std::pair<std::uint32_t, std::string>, stats::Talkers::Entry>;

void add_senders(stats::PortSnapshot& p, Senders& senders, const Worker& w, const SourceDetails& details) {
    const auto& lanes = w.loop->receiver().lanes();
    p.talkers_untold += details.untold + details.talkers.others();
    for (std::size_t i = 0; i < details.talkers.size(); i++) {
        const stats::Talkers::Entry e = details.talkers[i];
        const bool wanted = e.lane < lanes.size() && lanes[e.lane] != nullptr;
        stats::Talkers::Entry& sum = senders[{e.source, wanted ? lanes[e.lane]->config.name : std::string()}];
        sum.packets += e.packets;
        sum.excess += e.excess;
    }
}

void tell_senders(stats::PortSnapshot& p, const Senders& senders) {
    for (const auto& [who, sum] : senders)
        p.talkers.push_back({to_string(Ipv4{who.first}), who.second, sum.packets, sum.excess});
    std::stable_sort(p.talkers.begin(), p.talkers.end(),
                     [](const auto& a, const auto& b) { return a.packets > b.packets; });
    while (p.talkers.size() > stats::PortSnapshot::kTalkers) {
        p.talkers_others += p.talkers.back().packets;
        p.talkers.pop_back();
    }
}

}  // namespace

void Engine::State::add_buffers(stats::PortSnapshot& s, const port::Port& p, const stats::RxCounters& c) {
    if (c.fewest_free_mbufs == stats::RxCounters::kNeverLooked)
        return;
    if (!s.buffers || c.fewest_free_mbufs < s.buffers->fewest_free)
        s.buffers = {p.rx_sizes().mbufs, c.fewest_free_mbufs};
}

void Engine::State::add_details(stats::Snapshot& snap) const {
    std::vector<stats::StreamTimes> times(snap.streams.size());
    std::vector<Senders> senders(snap.ports.size());
    for (const auto& w : workers) {
        const Details& details = w->counts.details;
        for (std::size_t n = 0; n < details.lanes.size(); n++) {
            const recv::SpeadLane& lane = *w->lanes[n];
            const std::size_t i = w->layout->receives[n];
            times[i].latency.merge(details.lanes[n].times.latency);
            times[i].gap.merge(details.lanes[n].times.gap);
            stats::StreamSnapshot& s = snap.streams[i];
            add_endpoints(s, lane, details.lanes[n]);
            raise(s.ring_heaps, s.ring_most, lane.queue.capacity(), details.lanes[n].ring_most);
            raise(s.pool_bytes, s.pool_most, lane.window.placer().quota(), details.lanes[n].pool_most);
        }
        for (std::size_t n = 0; n < details.sources.size(); n++)
            add_senders(snap.ports[w->source_ports[n]], senders[w->source_ports[n]], *w, details.sources[n]);
    }
    for (std::size_t i = 0; i < times.size(); i++) {
        snap.streams[i].latency = stats::in_seconds(times[i].latency, snap.ticks_per_second);
        snap.streams[i].gap = stats::in_seconds(times[i].gap, snap.ticks_per_second);
    }
    for (std::size_t i = 0; i < senders.size(); i++)
        tell_senders(snap.ports[i], senders[i]);
    // What an lcore that does not answer told last may be of different times.
    snap.detailed = !any_lost();
}

stats::Snapshot Engine::State::shown(stats::Snapshot snap) const {
    return base ? stats::since(std::move(snap), *base) : snap;
}

void Engine::clear() {
    state_->base = state_->take_snapshot(State::Detail::full_then_forget);
}

stats::Snapshot Engine::totals() {
    return state_->take_snapshot(State::Detail::counts);
}

}  // namespace spead::runtime
