// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// The streams of a run: their shares on lcores, and where those get their packets from.
namespace spead::runtime {

namespace {

std::uint64_t ticks(double s) {
    return static_cast<std::uint64_t>(s * static_cast<double>(rte_get_tsc_hz()));
}

heap::OnFull on_full(OnFull policy, bool lossless) {
    switch (policy) {
        case OnFull::drop_oldest:
            return heap::OnFull::drop_oldest;
        case OnFull::block:
            return heap::OnFull::block;
        case OnFull::drop_newest:
            return heap::OnFull::drop_newest;
        case OnFull::automatic:
            break;
    }
    return lossless ? heap::OnFull::block : heap::OnFull::drop_newest;
}

recv::LaneConfig lane_config(const ReceivePlan& r, bool lossless) {
    recv::LaneConfig c;
    c.name = r.name;
    c.endpoints = r.endpoints;
    c.max_packet_size = r.max_packet_size;
    c.queue_heaps = r.ring;
    c.window.substreams = r.substreams;
    c.window.max_live = r.max_live;
    c.window.max_heap_bytes = r.max_bytes;
    c.window.history = r.history;
    c.window.history_ticks = ticks(r.history_time);
    c.window.timeout_ticks = r.timeout > 0 ? std::max<std::uint64_t>(1, ticks(r.timeout)) : 0;
    c.window.in_order = r.in_order;
    c.window.stop_on_stop_item = r.stop_on_stop_item;
    c.window.on_full = on_full(r.on_full, lossless);
    return c;
}

}  // namespace

void Engine::State::make_streams(Worker& worker) {
    const std::vector<std::size_t>& mine = worker.layout->receives;
    if (mine.empty())
        return;
    worker.arena = memory::Arena(worker.layout->heap_bytes, worker.layout->largest_heap);
    worker.shares.emplace(worker.arena.capacity());

    for (const std::size_t i : mine) {
        const ReceivePlan& r = plan.receives[i];
        const recv::LaneConfig config = lane_config(r, ports[port_index(r.port)]->capabilities().lossless);
        // Every stream can count on an equal share.
        const std::size_t quota = worker.arena.capacity() / mine.size();
        worker.shares->promise(quota);
        worker.lanes.push_back(
            std::make_unique<recv::SpeadLane>(config, heap::PoolPlacer(worker.arena, *worker.shares, quota)));
        recv::SpeadLane& lane = *worker.lanes.back();
        if (auto filter = surroundings.make_filter(r))
            lane.filter = std::make_unique<recv::FilterGate>(std::move(filter), r.held_buffers);
        worker.loop->receiver().add_lane(lane);
        Stream& stream = streams[i];
        if (!stream.sink)
            stream.sink = surroundings.make_sink(r.sink, r.name);
        stream.parts.push_back({&lane, &worker, consumers.add(lane.queue, *stream.sink)});
    }
}

/// What the worker gets of a queue: the endpoints of which it has a share.
recv::Source& Engine::State::make_source(const QueueLayout& queue, Worker& worker) {
    worker.source_ports.push_back(queue.port);
    recv::Source& source = *worker.sources.emplace_back(std::make_unique<recv::Source>());
    source.limit(ports[queue.port]->capabilities());
    source.arrivals = ports[queue.port]->arrivals();
    if (hosts[queue.port] && worker.layout->planned_cpu == queue.cpu)
        source.hosts = &hosts[queue.port]->add_source();
    const std::vector<std::size_t>& mine = worker.layout->receives;
    std::set<std::uint16_t> lanes;
    for (const Delivery& d : queue.deliveries) {
        if (std::find(d.cpus.begin(), d.cpus.end(), worker.layout->planned_cpu) == d.cpus.end())
            continue;
        const auto lane =
            static_cast<std::uint16_t>(std::find(mine.begin(), mine.end(), d.receive) - mine.begin());
        const ReceivePlan& r = plan.receives[d.receive];
        if (!source.classifier.add(r.endpoints[d.endpoint], {lane, d.endpoint}))
            throw_usage(r.name, "endpoint {} is received by another stream of port {} already",
                        to_string(r.endpoints[d.endpoint]), r.port);
        lanes.insert(lane);
    }
    source.lanes.assign(lanes.begin(), lanes.end());
    source.flows = recv::FlowCache(source.classifier.size());
    return source;
}

void Engine::State::make_queues() {
    for (const QueueLayout& q : layout.queues) {
        Queue& queue = queues.emplace_back();
        queue.layout = &q;
        std::vector<unsigned> cpus{q.cpu};
        for (const Delivery& d : q.deliveries)
            for (const unsigned cpu : d.cpus)
                if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
                    cpus.push_back(cpu);
        for (std::size_t share = 0; share < cpus.size(); share++)
            queue.readers.push_back({&make_source(q, *workers[layout.worker_on(cpus[share])]), share});
        if (cpus.size() == 1)
            continue;
        queue.distributor = std::make_unique<recv::Distributor>(cpus.size() - 1);
        for (const Delivery& d : q.deliveries) {
            std::vector<std::uint16_t> destinations;
            for (const unsigned cpu : d.cpus)
                destinations.push_back(
                    static_cast<std::uint16_t>(std::find(cpus.begin(), cpus.end(), cpu) - cpus.begin()));
            queue.distributor->add(plan.receives[d.receive].endpoints[d.endpoint], std::move(destinations));
        }
        workers[layout.worker_on(q.cpu)]->loop->add_distributor(*queue.distributor);
    }
}

/// Ports run by now.
void Engine::State::connect_queues() {
    for (Queue& queue : queues) {
        const port::RxQueue from = ports[queue.layout->port]->rx_queue(queue.layout->queue);
        if (queue.distributor)
            queue.distributor->connect(from);
        for (const Queue::Reader& reader : queue.readers)
            reader.source->queue = !queue.distributor  ? from
                                   : reader.share == 0 ? queue.distributor->own()
                                                       : queue.distributor->share(reader.share - 1);
    }
    for (const auto& w : workers)
        for (const auto& source : w->sources)
            w->loop->receiver().add_source(*source);
}

/// Why a worker whose streams ask for interrupt mode cannot have it; empty if it can.
std::string Engine::State::why_no_interrupts(const Worker& worker) const {
    if (!worker.layout->sends.empty())
        return "it also sends";
    for (const Queue& q : queues)
        for (const Queue::Reader& reader : q.readers) {
            const bool mine = std::any_of(worker.sources.begin(), worker.sources.end(),
                                          [&](const auto& s) { return s.get() == reader.source; });
            if (mine && reader.share != 0)
                return "it works behind another lcore's queue";
            if (mine && !ports[q.layout->port]->rx_events(q.layout->queue))
                return fmt::format("{} has no receive interrupt", ports[q.layout->port]->device_name());
        }
    return {};
}

/// Ports run by now.
void Engine::State::arm_interrupts() {
    for (const auto& w : workers) {
        if (w->loop->mode() != PollMode::interrupt)
            continue;
        if (const std::string reason = why_no_interrupts(*w); !reason.empty()) {
            log_notice(LogType::runtime, "lcore {} polls adaptively: {}", w->layout->lcore, reason);
            w->loop->set_mode(PollMode::adaptive);
            continue;
        }
        auto sleeper = std::make_unique<Sleeper>();
        for (const Queue& q : queues)
            if (workers[layout.worker_on(q.layout->cpu)] == w)
                sleeper->add(ports[q.layout->port]->rx_events(q.layout->queue));
        w->loop->wait_for(std::move(sleeper));
    }
}

void Engine::State::add_rules() {
    for (const Queue& q : queues)
        if (hosts[q.layout->port] && q.layout->queue == 0)
            ports[q.layout->port]->add_host_rules(0);
    for (const PortRule& r : layout.rules)
        ports[r.port]->add_rule(r.rule);
}

/// A stop item comes to one lcore and stops the stream on all.
void Engine::State::share_stops() {
    for (std::size_t i = 0; i < streams.size(); i++) {
        Stream& s = streams[i];
        if (!plan.receives[i].stop_on_stop_item || s.parts.size() < 2 || s.stopped)
            continue;
        for (const Stream::Part& part : s.parts)
            ask(*part.worker, [&] { s.stopped |= part.lane->window.stopped(); });
        if (s.stopped)
            for (const Stream::Part& part : s.parts)
                ask(*part.worker, [&] { part.lane->window.stop(); });
    }
}

std::size_t Engine::State::packets_between_lcores() const {
    std::size_t n = 0;
    for (const Queue& q : queues)
        n += q.distributor ? q.distributor->on_their_way() : 0;
    return n;
}

}  // namespace spead::runtime
