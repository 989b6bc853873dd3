// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include <rte_cycles.h>

#include "runtime/paths.hpp"
#include "runtime/snapshots.hpp"
#include "stats/since.hpp"
#include "wire/fitting_format.hpp"

/// Adds the details of a snapshot that explain its counts: heap times, high-water marks, senders.
namespace spead::runtime {

namespace {

/// Keeps the values of the lcore that came closest to its limit.
void raise(std::uint64_t& limit, std::uint64_t& most, std::uint64_t of, std::uint64_t reached) {
    if (limit == 0 || static_cast<double>(reached) * static_cast<double>(limit) >
                          static_cast<double>(most) * static_cast<double>(of)) {
        limit = of;
        most = reached;
    }
}

void tell_marks(stats::StreamSnapshot& s, const StreamLane& lane) {
    const std::uint64_t places = lane.rx->queue.capacity();
    raise(s.queue_capacity, s.queue_most, places, lane.queued.peak().ever);
    const std::uint64_t bytes = lane.rx->window.placer().quota();
    raise(s.pool_bytes, s.pool_most, bytes, lane.memory_used.peak().ever);
    s.queue_most_minute = std::max(s.queue_most_minute, lane.queued.peak().minute);
    s.pool_most_minute = std::max(s.pool_most_minute, lane.memory_used.peak().minute);
    s.queue_most_now = std::max(s.queue_most_now, lane.queued.peak().now);
    s.pool_most_now = std::max(s.pool_most_now, lane.memory_used.peak().now);
}

/// Adds the counts of endpoints. Those of endpoints that the stream no longer knows are summed.
void add_endpoints(stats::StreamSnapshot& s, const Stream& stream, const ReceivePlan& plan) {
    const std::vector<PathEndpoint> endpoints = all_endpoints(plan);
    std::vector<stats::EndpointCounters> sums = stream.past.endpoints();
    sums.resize(stream.places.size());
    for (const StreamLane* const lane : stream.all_lanes())
        for (std::size_t e = 0; e < lane->details.endpoints.size() && e < sums.size(); e++)
            sums[e].add(lane->details.endpoints[e]);
    stats::EndpointCounters former = stream.past.without_place();
    for (std::size_t e = 0; e < sums.size(); e++)
        if (std::find(endpoints.begin(), endpoints.end(), stream.places.all()[e]) == endpoints.end())
            former.add(sums[e]);
    for (const PathEndpoint& e : endpoints) {
        const std::size_t place = stream.places.of(e);
        const stats::EndpointCounters sum = place < sums.size() ? sums[place] : stats::EndpointCounters{};
        const std::string on = has_two_paths(plan) ? " on " + port_of(plan, e.path) : std::string();
        s.by_endpoint.push_back({to_string(e.endpoint) + on, sum.packets, sum.bytes});
    }
    if (former.packets != 0)
        s.by_endpoint.push_back({"former", former.packets, former.bytes});
}

/// Finds out which format the stream's malformed packets have.
void tell_format(stats::StreamSnapshot& s, const Stream& stream) {
    if (s.packets[static_cast<std::size_t>(PacketOutcome::malformed)] == 0)
        return;
    std::vector<wire::DatagramHead> heads;
    for (const StreamLane* const lane : stream.all_lanes())
        std::ranges::copy_if(lane->details.refused.all, std::back_inserter(heads),
                             [](const wire::DatagramHead& h) { return h.length != 0; });
    s.fits_format = wire::fitting_format(heads);
}

/// Holds all senders of a port, over its queues.
using Senders = std::map<std::pair<std::uint32_t, std::string>, stats::Talkers::Entry>;

void add_senders(stats::PortSnapshot& p, Senders& senders, const Worker& w, const SourceDetails& details) {
    const auto& lanes = w.loop->receiver().lanes();
    p.talkers_unattributed += details.unattributed + details.talkers.others();
    for (std::size_t i = 0; i < details.talkers.size(); i++) {
        const stats::Talkers::Entry e = details.talkers[i];
        const bool wanted = e.lane < lanes.size() && lanes[e.lane] != nullptr;
        stats::Talkers::Entry& sum = senders[{e.source, wanted ? lanes[e.lane]->config.name : std::string()}];
        sum.packets += e.packets;
        sum.excess += e.excess;
        sum.address = e.address;
    }
}

/// Returns the address of a sender, as far as it is known.
std::string source_of(std::uint32_t key, const stats::Talkers::Entry& sender) {
    const IpAddress address = sender.address;
    return address.is_v6() && sender_key(address) == key ? to_string(address) : sender_text(key);
}

void tell_senders(stats::PortSnapshot& p, const Senders& senders) {
    for (const auto& [who, sum] : senders)
        p.talkers.push_back({source_of(who.first, sum), who.second, sum.packets, sum.excess, who.first});
    std::stable_sort(p.talkers.begin(), p.talkers.end(),
                     [](const auto& a, const auto& b) { return a.packets > b.packets; });
    while (p.talkers.size() > stats::PortSnapshot::kTalkers) {
        p.talkers_others += p.talkers.back().packets;
        p.talkers.pop_back();
    }
}

/// Lists the destinations of packets for no stream, over all queues of each port.
void add_strays(stats::Snapshot& snap, const LcoreSet& lcores) {
    std::vector<stats::Strays> found(snap.ports.size());
    for (const auto& w : lcores)
        for (std::size_t n = 0; n < w->counts.sources.size(); n++)
            found[w->source_ports[n]].add(w->counts.sources[n].strays);
    for (std::size_t i = 0; i < found.size(); i++) {
        std::ranges::stable_sort(found[i].all, std::greater{}, &stats::Strays::Stray::count);
        for (const stats::Strays::Stray& s : found[i].all)
            if (s.count != 0)
                snap.ports[i].strays.push_back(
                    {to_string(Endpoint{s.address, s.port, {}}), to_string(s.source), s.count});
    }
}

}  // namespace

void Snapshots::add_details(stats::Snapshot& snap) {
    for (std::size_t i = 0; i < of_.streams.current().size(); i++) {
        const Stream& stream = *of_.streams.current()[i];
        stats::StreamSnapshot& s = snap.streams[i];
        stats::StreamTimes times = stream.past.times();
        for (const StreamLane* const lane : stream.all_lanes()) {
            times.latency.merge(lane->details.times.latency);
            times.gap.merge(lane->details.times.gap);
            tell_marks(s, *lane);
        }
        if (stream.chunks)
            s.axes = stream.chunks->axes();
        add_endpoints(s, stream, of_.plan.receives[i]);
        tell_format(s, stream);
        s.latency = stats::in_seconds(times.latency, snap.ticks_per_second);
        s.gap = stats::in_seconds(times.gap, snap.ticks_per_second);
    }
    std::vector<Senders> found(snap.ports.size());
    for (const auto& w : of_.lcores)
        for (std::size_t n = 0; n < w->counts.sources.size(); n++)
            add_senders(snap.ports[w->source_ports[n]], found[w->source_ports[n]], *w, w->counts.sources[n]);
    for (std::size_t i = 0; i < found.size(); i++)
        tell_senders(snap.ports[i], found[i]);
    add_strays(snap, of_.lcores);
    add_settings(snap);
    add_absences(snap);
    // The last counts of a silent lcore may be of different times.
    snap.detailed = !of_.lcores.any_silent();
}

}  // namespace spead::runtime
