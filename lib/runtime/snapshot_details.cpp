// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include <rte_cycles.h>

#include "runtime/snapshots.hpp"
#include "stats/since.hpp"

/// What explains the counts of a snapshot: times of heaps, high-water marks, senders.
namespace spead::runtime {

namespace {

/// Whichever lcore came closest to its limit is told.
void raise(std::uint64_t& limit, std::uint64_t& most, std::uint64_t of, std::uint64_t reached) {
    if (limit == 0 || static_cast<double>(reached) * static_cast<double>(limit) >
                          static_cast<double>(most) * static_cast<double>(of)) {
        limit = of;
        most = reached;
    }
}

void tell_marks(stats::StreamSnapshot& s, const Part& part) {
    const std::uint64_t places = part.lane->queue.capacity();
    raise(s.ring_heaps, s.ring_most, places, part.queued.peak().ever);
    const std::uint64_t bytes = part.lane->window.placer().quota();
    raise(s.pool_bytes, s.pool_most, bytes, part.memory_used.peak().ever);
    s.ring_most_minute = std::max(s.ring_most_minute, part.queued.peak().minute);
    s.pool_most_minute = std::max(s.pool_most_minute, part.memory_used.peak().minute);
    s.ring_most_now = std::max(s.ring_most_now, part.queued.peak().now);
}

/// What endpoints of which the stream knows no more have counted is told together.
void add_endpoints(stats::StreamSnapshot& s, const Stream& stream, const std::vector<Endpoint>& endpoints) {
    std::vector<stats::EndpointCounters> sums = stream.past_endpoints;
    sums.resize(stream.places.size());
    for (const Part* const part : stream.all_parts())
        for (std::size_t e = 0; e < part->details.endpoints.size() && e < sums.size(); e++)
            sums[e].add(part->details.endpoints[e]);
    stats::EndpointCounters former = stream.former;
    for (std::size_t e = 0; e < sums.size(); e++)
        if (std::find(endpoints.begin(), endpoints.end(), stream.places[e]) == endpoints.end())
            former.add(sums[e]);
    for (const Endpoint& endpoint : endpoints) {
        const auto place = static_cast<std::size_t>(
            std::find(stream.places.begin(), stream.places.end(), endpoint) - stream.places.begin());
        const stats::EndpointCounters sum = place < sums.size() ? sums[place] : stats::EndpointCounters{};
        s.by_endpoint.push_back({to_string(endpoint), sum.packets, sum.bytes});
    }
    if (former.packets != 0)
        s.by_endpoint.push_back({"former", former.packets, former.bytes});
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

void Snapshots::add_details(stats::Snapshot& snap) {
    for (std::size_t i = 0; i < of_.streams.current().size(); i++) {
        const Stream& stream = *of_.streams.current()[i];
        stats::StreamSnapshot& s = snap.streams[i];
        stats::StreamTimes times = stream.past_times;
        for (const Part* const part : stream.all_parts()) {
            times.latency.merge(part->details.times.latency);
            times.gap.merge(part->details.times.gap);
            tell_marks(s, *part);
        }
        add_endpoints(s, stream, of_.plan.receives[i].endpoints);
        s.latency = stats::in_seconds(times.latency, snap.ticks_per_second);
        s.gap = stats::in_seconds(times.gap, snap.ticks_per_second);
    }
    std::vector<Senders> found(snap.ports.size());
    for (const auto& w : of_.lcores)
        for (std::size_t n = 0; n < w->counts.sources.size(); n++)
            add_senders(snap.ports[w->source_ports[n]], found[w->source_ports[n]], *w, w->counts.sources[n]);
    for (std::size_t i = 0; i < found.size(); i++)
        tell_senders(snap.ports[i], found[i]);
    add_absences(snap);
    // What an lcore that does not answer told last may be of different times.
    snap.detailed = !of_.lcores.any_silent();
}

}  // namespace spead::runtime
