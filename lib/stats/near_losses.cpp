// SPDX-License-Identifier: BSD-3-Clause
#include "stats/near_losses.hpp"

#include <algorithm>

#include "base/outcome.hpp"
#include "stats/grown.hpp"
#include "stats/rates.hpp"

namespace spead::stats {

namespace {

/// Returns whether a port brings packets of a stream, and may lose them.
bool may_lose(const PortSnapshot& p, const Snapshot& now) {
    return std::ranges::any_of(now.streams, [&p](const StreamSnapshot& s) {
        return s.comes_by(p.name) && s.state == "received" && !s.settings.is_lossless;
    });
}

/// Returns the seconds in which packets of an lcore fill the receive queue of its port, if so many come in
/// `seconds`; 0: unknown.
double seconds_to_fill(const PortSnapshot& p, std::uint64_t packets, double bytes, double seconds) {
    if (packets == 0 || seconds <= 0)
        return 0;
    const double a_second = static_cast<double>(packets) / seconds;
    // Sockets count bytes.
    if (p.settings.socket_buffer != 0)
        return bytes <= 0 ? 0 : static_cast<double>(p.settings.socket_buffer) / bytes / a_second;
    return static_cast<double>(p.rx_descriptors) / a_second;
}

void note(NearLoss& near, std::uint64_t reached, std::uint64_t of) {
    near.times++;
    if (reached >= near.most) {
        near.most = reached;
        near.of = of;
    }
}

/// Returns whether the lcores that receive the stream have no other: all of their heap memory is its own.
bool has_memory_alone(const StreamSnapshot& s, const Snapshot& now) {
    return std::ranges::all_of(now.lcores, [&s](const LcoreSnapshot& l) {
        return l.streams.size() <= 1 ||
               std::ranges::none_of(l.streams, [&s](const auto& one) { return one.name == s.name; });
    });
}

}  // namespace

void NearLosses::observe(Snapshot& now) {
    look(now, true);
}

void NearLosses::settle(Snapshot& now) {
    look(now, false);
}

void NearLosses::look(Snapshot& now, bool settled) {
    passed_s_ = now.duration_s - seen_s_;
    seen_s_ = now.duration_s;
    // The lcores compare with the ports' counts of before.
    for (LcoreSnapshot& l : now.lcores)
        look_at_lcore(l, now, settled);
    for (PortSnapshot& p : now.ports)
        look_at_port(p, now, settled);
    for (StreamSnapshot& s : now.streams)
        look_at_stream(s, now, settled);
}

void NearLosses::look_at_lcore(LcoreSnapshot& l, const Snapshot& now, bool settled) {
    OfLcore& before = lcores_[l.lcore];
    const bool looped = grown(l.counters.loops, before.loops) != 0 || l.counters.loops == 0;
    const double loop =
        now.ticks_per_second > 0 ? static_cast<double>(l.longest_loop_now) / now.ticks_per_second : 0;
    bool is_long = false;
    bool has_lost = false;
    double fills = 0;
    for (const LcoreSnapshot::Received& r : l.ports) {
        const std::uint64_t packets = grown(r.received, before.received[r.name]);
        before.received[r.name] = r.received;
        const PortSnapshot* const p = find(now.ports, r.name);
        if (p == nullptr || packets == 0 || !may_lose(*p, now))
            continue;
        const OfPort& port = ports_[r.name];
        has_lost |=
            grown(p->nic.missed + p->nic.no_mbuf, port.lost) != 0 || now.duration_s - port.lost_s <= kLately;
        const std::uint64_t all = grown(p->rx_packets, port.packets);
        const double bytes =
            all == 0 ? 0 : static_cast<double>(grown(p->rx_bytes, port.bytes)) / static_cast<double>(all);
        const double its = seconds_to_fill(*p, packets, bytes, passed_s_);
        if (its > 0 && (fills == 0 || its < fills))
            fills = its;
        is_long |= loop >= kLongLoop || (its > 0 && loop >= kShortLoop && loop >= kPartOfQueue * its);
    }
    before.loops = l.counters.loops;
    if (settled && looped && is_long && !has_lost)
        note(before.near, static_cast<std::uint64_t>(loop * 1e9), static_cast<std::uint64_t>(fills * 1e9));
    l.held_up = before.near;
}

void NearLosses::look_at_port(PortSnapshot& p, const Snapshot& now, bool settled) {
    OfPort& before = ports_[p.name];
    const std::uint64_t lost = p.nic.missed + p.nic.no_mbuf;
    if (grown(lost, before.lost) != 0)
        before.lost_s = now.duration_s;
    before.lost = lost;
    before.packets = p.rx_packets;
    before.bytes = p.rx_bytes;
    if (p.buffers && settled && may_lose(p, now) && now.duration_s - before.lost_s > kLately) {
        // Those of its queue are always taken.
        const std::uint64_t size = p.buffers->size;
        const std::uint64_t all = size > p.rx_descriptors ? size - p.rx_descriptors : size;
        if (p.buffers->fewest_free_now * kFreeBuffers < all)
            note(before.near, size - p.buffers->fewest_free_now, size);
    }
    p.buffers_near = before.near;
}

void NearLosses::look_at_stream(StreamSnapshot& s, const Snapshot& now, bool settled) {
    OfStream& before = streams_[s.number];
    const std::uint64_t no_memory = s.packets_without_memory();
    if (grown(s.heaps_dropped_full, before.dropped) != 0)
        before.dropped_s = now.duration_s;
    if (grown(no_memory, before.no_memory) != 0)
        before.no_memory_s = now.duration_s;
    before.dropped = s.heaps_dropped_full;
    before.no_memory = no_memory;
    const double lost_s = std::max(before.dropped_s, before.no_memory_s);
    const auto is_near = [](std::uint64_t most, std::uint64_t of) {
        return most != 0 && (of <= most || (of - most) * kFreePart <= of);
    };
    if (settled && !s.settings.waits && now.duration_s - lost_s > kLately) {
        if (s.queue_capacity >= kShortQueue && is_near(s.queue_most_now, s.queue_capacity))
            note(before.queue, s.queue_most_now, s.queue_capacity);
        if (s.pool_bytes != 0 && is_near(s.pool_most_now, s.pool_bytes) && has_memory_alone(s, now))
            note(before.pool, s.pool_most_now, s.pool_bytes);
    }
    s.queue_near = before.queue;
    s.pool_near = before.pool;
}

void NearLosses::clear() {
    for (auto& [name, port] : ports_)
        port.near.most = 0;
    for (auto& [lcore, one] : lcores_)
        one.near.most = 0;
    for (auto& [number, stream] : streams_)
        stream.queue.most = stream.pool.most = 0;
}

}  // namespace spead::stats
