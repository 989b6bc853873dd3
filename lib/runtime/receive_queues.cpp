// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/receive_queues.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/paths.hpp"
#include "wire/packet_format.hpp"

namespace spead::runtime {

namespace {

/// Limits how long a change waits for what is on its way to a former reader of a queue.
constexpr auto kDrainPatience = std::chrono::milliseconds(100);

/// Gives the source other tables, on its lcore. If it has no streams any more, the rest of the datagrams that
/// it has begun goes to another lcore.
void exchange(recv::SourceTables& fresh, recv::Source& source) noexcept {
    fresh.exchange(source);
    if (source.lanes.empty())
        source.give_up_fragments();
}

/// Returns the number by which the queue's distributor knows the lcore, which reads the queue.
std::uint16_t share_of(const Queue& queue, unsigned cpu) {
    const auto reader = std::ranges::find_if(
        queue.readers, [cpu](const Queue::Reader& r) { return r.worker->layout->planned_cpu == cpu; });
    return static_cast<std::uint16_t>(reader->share);
}

}  // namespace

/// Returns a reader's tables for a queue assignment: the endpoints with a lane on its lcore.
recv::SourceTables ReceiveQueues::tables_of(const Queue::Reader& reader, const QueueLayout& queue,
                                            const Deliveries& to) const {
    recv::SourceTables tables;
    std::set<std::uint16_t> lanes;
    for (const Delivery& d : queue.deliveries) {
        if (std::find(d.cpus.begin(), d.cpus.end(), reader.worker->layout->planned_cpu) == d.cpus.end())
            continue;
        const ReceivePlan& r = to.plan.receives[d.receive];
        const Endpoint& e = endpoints_of(r, d.path)[d.endpoint];
        const auto place = static_cast<std::uint16_t>(to.streams[d.receive]->places.of({e, d.path}));
        const std::uint16_t lane = lane_on(*to.streams[d.receive], *reader.worker)->slot;
        if (!tables.classifier.add(e, {lane, place}))
            throw_usage(r.name, "endpoint {} is received by another stream of port {} already", to_string(e),
                        port_of(r, d.path));
        lanes.insert(lane);
    }
    tables.lanes.assign(lanes.begin(), lanes.end());
    tables.flows = recv::FlowCache(tables.classifier.size());
    tables.flows6 = recv::FlowCache6(tables.classifier.size6());
    return tables;
}

/// Returns the distribution of a queue's packets for a queue assignment.
recv::Distributor::Table ReceiveQueues::distribution(const Queue& queue, const QueueLayout& to,
                                                     const Plan& plan) {
    recv::Distributor::Table table;
    std::map<std::size_t, std::shared_ptr<recv::FormatDecoder>> formats;  // of streams
    for (const Delivery& d : to.deliveries) {
        std::vector<std::uint16_t> destinations;
        for (const unsigned cpu : d.cpus)
            destinations.push_back(share_of(queue, cpu));
        const ReceivePlan& r = plan.receives[d.receive];
        if (!r.format.empty() && formats[d.receive] == nullptr)
            formats[d.receive] =
                std::make_shared<recv::FormatDecoder>(wire::PacketFormat::parse(r.format, r.name));
        table.add(endpoints_of(r, d.path)[d.endpoint], std::move(destinations),
                  r.format.empty() ? nullptr : formats[d.receive]);
    }
    return table;
}

/// Returns the worker's reader of the queue. Made on first use, and kept.
Queue::Reader& ReceiveQueues::reader(Queue& queue, Worker& worker) {
    for (Queue::Reader& r : queue.readers)
        if (r.worker == &worker)
            return r;
    std::size_t share = 0;
    if (queue.worker != &worker) {
        if (!queue.distributor)
            queue.distributor = std::make_unique<recv::Distributor>(0);
        share = 1 + lcores_.ask(
                        *queue.worker,
                        [](recv::Distributor* distributor, recv::Distributor::Ring& ring) {
                            return distributor->add_other(std::move(ring));
                        },
                        queue.distributor.get(), recv::Distributor::Ring());
    }
    recv::Source& source = *worker.sources.emplace_back(std::make_unique<recv::Source>());
    worker.source_ports.push_back(queue.port);
    worker.counts.ports.emplace_back();
    source.limit(ports_[queue.port].device().capabilities());
    source.check_udp = ports_[queue.port].plan().udp_checksum;
    if (const std::uint32_t most = ports_[queue.port].planned().request.reassembled_datagrams; most != 0)
        source.reassembler =
            std::make_unique<recv::Reassembler>(most, ports_[queue.port].device().socket_id(),
                                                fmt::format("port {}", ports_[queue.port].plan().name));
    source.arrivals = ports_[queue.port].device().arrivals();
    source.held = share == 0 && ports_[queue.port].device().capabilities().finite;
    if (ports_[queue.port].host() && share == 0)
        source.hosts = &ports_[queue.port].host()->add_source();
    Queue::Reader& made = queue.readers.emplace_back(Queue::Reader{&source, &worker, share});
    if (connected_)
        connect(queue, made);
    return made;
}

/// Connects a reader; ports run.
void ReceiveQueues::connect(Queue& queue, const Queue::Reader& made) {
    // A port that is stopped or detached comes with its queue when it is back (put_on).
    const port::RxQueue from =
        ports_[queue.port].is_on() ? ports_[queue.port].device().rx_queue(queue.queue) : port::silent_queue();
    const auto add_source = [](recv::RxAgent* receiver, recv::Source* source, const port::RxQueue& of) {
        source->queue = of;
        receiver->add_source(*source);
    };
    recv::RxAgent* const receiver = &made.worker->loop->receiver();
    if (made.share == 0) {
        lcores_.ask(*made.worker, add_source, receiver, made.source, from);
        return;
    }
    // The distributor steps between the queue and its lcore.
    lcores_.ask(
        *queue.worker,
        [](LcoreLoop* loop, recv::Distributor* distributor, recv::Source* own, const port::RxQueue& of) {
            if (own->queue.context == distributor)
                return;
            distributor->connect(of);
            own->queue = distributor->own();
            own->all_endpoints = &distributor->endpoints();
            loop->add_distributor(*distributor);
        },
        queue.worker->loop.get(), queue.distributor.get(), queue.readers.front().source, from);
    lcores_.ask(*made.worker, add_source, receiver, made.source, queue.distributor->share(made.share - 1));
}

void ReceiveQueues::make(const std::vector<QueueLayout>& layout) {
    for (const QueueLayout& q : layout) {
        Queue& queue = queues_.emplace_back();
        queue.port = q.port;
        queue.queue = q.queue;
        queue.worker = &lcores_.on_cpu(q.cpu);
        reader(queue, *queue.worker);
    }
}

/// Connects all queues; ports run.
void ReceiveQueues::connect() {
    for (Queue& queue : queues_)
        for (const Queue::Reader& r : queue.readers)
            connect(queue, r);
    connected_ = true;
}

/// Changes the assignment of the queue. Streams that stay on their lcores always have a lane. Packets on
/// their way to an lcore that loses the endpoint become unmatched, unless it loses all of them.
void ReceiveQueues::deliver(const std::vector<QueueLayout>& layout, const Deliveries& to) {
    for (std::size_t i = 0; i < queues_.size(); i++)
        switch_queue(queues_[i], layout[i], to);
}

void ReceiveQueues::switch_queue(Queue& queue, const QueueLayout& to, const Deliveries& streams) {
    for (const Delivery& d : to.deliveries)
        for (const unsigned cpu : d.cpus)
            reader(queue, lcores_.on_cpu(cpu));
    std::vector<recv::SourceTables> tables;
    for (const Queue::Reader& r : queue.readers)
        tables.push_back(tables_of(r, to, streams));
    const auto give_tables = [&](std::size_t i) {
        lcores_.ask(
            *queue.readers[i].worker,
            [](recv::SourceTables& fresh, recv::Source* source) { exchange(fresh, *source); },
            std::move(tables[i]), queue.readers[i].source);
    };
    // Lcores behind the queue that have streams come first: they must know what they get. Those that lose all
    // come last: what is on its way to them is theirs still.
    std::vector<std::size_t> former;
    for (std::size_t i = 0; i < tables.size(); i++)
        if (queue.readers[i].share != 0 && !tables[i].lanes.empty())
            give_tables(i);
        else if (queue.readers[i].share != 0)
            former.push_back(i);
    recv::Distributor::Table table;
    if (queue.distributor) {
        table = distribution(queue, to, streams.plan);
        // The streams of a port that reassembles are on one lcore.
        if (queue.readers.front().source->reassembler != nullptr && !to.deliveries.empty())
            table.pass_fragments_to(share_of(queue, to.deliveries.front().cpus.front()));
    }
    // A file that nobody reads yet would be gone when its stream begins.
    const bool held = ports_[queue.port].device().capabilities().finite && to.deliveries.empty();
    lcores_.ask(
        *queue.worker,
        [](recv::Distributor* distributor, recv::Distributor::Table& where, recv::SourceTables& fresh,
           recv::Source* source, bool hold) {
            if (distributor != nullptr)
                distributor->exchange(where);
            exchange(fresh, *source);
            source->held = hold;
        },
        queue.distributor.get(), std::move(table), std::move(tables.front()), queue.readers.front().source,
        held);
    for (const std::size_t i : former) {
        drain(*queue.distributor, queue.readers[i]);
        give_tables(i);
    }
}

/// Lets a reader take what is on its way to it. Its queue's lcore sends it no more. What its streams have no
/// room for in kDrainPatience, because consumers are behind, becomes unmatched.
void ReceiveQueues::drain(const recv::Distributor& distributor, const Queue::Reader& reader) const {
    const auto until = std::chrono::steady_clock::now() + kDrainPatience;
    do {
        const bool is_empty = distributor.on_their_way_to(reader.share - 1) == 0;
        // The last burst may be in its hands still.
        const std::uint16_t waiting = lcores_.ask(
            *reader.worker, [](const recv::Source* source) { return source->waiting.count; },
            static_cast<const recv::Source*>(reader.source));
        if (is_empty && waiting == 0)
            return;
    } while (std::chrono::steady_clock::now() < until);
}

/// Returns why a worker whose streams ask for interrupt mode cannot have it; empty if it can.
std::string ReceiveQueues::why_no_interrupts(const Worker& worker, bool sends) const {
    if (sends)
        return "it also sends";
    for (const Queue& q : queues_)
        for (const Queue::Reader& r : q.readers) {
            if (r.worker == &worker && r.share != 0)
                return "another lcore polls its queue";
            if (r.worker == &worker && !ports_[q.port].device().rx_events(q.queue))
                return fmt::format("{} has no receive interrupt", ports_[q.port].device().device_name());
        }
    return {};
}

/// Arms interrupts; ports run.
void ReceiveQueues::arm_interrupts(const std::function<bool(const Worker&)>& sends) {
    for (const auto& w : lcores_) {
        if (w->loop->mode() != PollMode::interrupt)
            continue;
        if (const std::string reason = why_no_interrupts(*w, sends(*w)); !reason.empty()) {
            log_notice(LogType::runtime, "lcore {} polls adaptively: {}", w->layout->lcore, reason);
            w->loop->set_mode(PollMode::adaptive);
            continue;
        }
        auto sleeper = std::make_unique<Sleeper>();
        for (const Queue& q : queues_)
            if (q.worker == w.get())
                sleeper->add(ports_[q.port].device().rx_events(q.queue));
        w->loop->wait_for(std::move(sleeper));
    }
}

std::size_t ReceiveQueues::packets_between_lcores() const {
    std::size_t n = 0;
    for (const Queue& q : queues_)
        n += q.distributor ? q.distributor->on_their_way() : 0;
    return n;
}

bool ReceiveQueues::is_silent_on(std::size_t port) const {
    return std::any_of(queues_.begin(), queues_.end(), [port](const Queue& q) {
        return q.port == port && (is_silent(*q.worker) ||
                                  std::any_of(q.readers.begin(), q.readers.end(),
                                              [](const Queue::Reader& r) { return is_silent(*r.worker); }));
    });
}

const Worker& ReceiveQueues::least_busy(std::size_t port) const {
    const Worker* best = nullptr;
    for (const Queue& q : queues_)
        if (q.port == port && (best == nullptr || q.worker->lanes.size() < best->lanes.size()))
            best = q.worker;
    return *best;
}

void ReceiveQueues::close_distributors() {
    for (const Queue& q : queues_)
        if (q.distributor)
            static_cast<void>(lcores_.try_ask(
                *q.worker, [](recv::Distributor* distributor) { distributor->close(); },
                q.distributor.get()));
}

}  // namespace spead::runtime
