// SPDX-License-Identifier: BSD-3-Clause
#include <thread>

#include "base/log.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/waits.hpp"

/// Handles receive queues of ports that are stopped, detached and started again.
namespace spead::runtime {

namespace {

/// Limits the wait for packets between lcores before the port is stopped.
constexpr auto kPassOnPatience = std::chrono::seconds(2);

}  // namespace

void ReceiveQueues::take_off(std::size_t port) {
    port::RxQueue silent = port::silent_queue();
    // Packets that wait are as they came.
    silent.splits = ports_[port].planned().device.split.has_value();
    for (Queue& q : queues_) {
        if (q.port != port)
            continue;
        stop_waiting(*q.worker);
        lcores_.ask(
            *q.worker,
            [](recv::Distributor* distributor, recv::Source* own, const port::RxQueue& nothing) {
                if (distributor != nullptr)
                    distributor->connect(nothing);
                else
                    own->queue = nothing;
            },
            q.distributor.get(), q.readers.front().source, silent);
        const LcoreSet::Clock::time_point end = LcoreSet::Clock::now() + kPassOnPatience;
        while (q.distributor && q.distributor->on_their_way() != 0 && LcoreSet::Clock::now() < end)
            std::this_thread::sleep_for(kStep);
        // The pool may go with the port.
        for (const Queue::Reader& r : q.readers)
            lcores_.ask(
                *r.worker,
                [](recv::Source* source) {
                    source->waiting.drop();
                    source->give_up_fragments();
                    source->arrivals = nullptr;
                    source->queue.pool = nullptr;
                },
                r.source);
    }
}

void ReceiveQueues::put_on(std::size_t port) {
    for (Queue& q : queues_) {
        if (q.port != port)
            continue;
        for (const Queue::Reader& r : q.readers)
            lcores_.ask(
                *r.worker,
                [](recv::Source* source, const port::ArrivalTimes* arrivals) { source->arrivals = arrivals; },
                r.source, ports_[port].device().arrivals());
        lcores_.ask(
            *q.worker,
            [](recv::Distributor* distributor, recv::Source* own, const port::RxQueue& from) {
                if (distributor != nullptr)
                    distributor->connect(from);
                own->queue = distributor != nullptr ? distributor->own() : from;
            },
            q.distributor.get(), q.readers.front().source, ports_[port].device().rx_queue(q.queue));
        for (const Queue::Reader& r : q.readers)
            if (r.share != 0)
                lcores_.ask(
                    *r.worker,
                    [](recv::Source* source, const port::RxQueue& share) { source->queue = share; }, r.source,
                    q.distributor->share(r.share - 1));
    }
}

void ReceiveQueues::add_host_rules() {
    for (std::size_t port = 0; port < ports_.size(); port++)
        add_host_rules(port);
}

void ReceiveQueues::add_host_rules(std::size_t port) {
    for (const Queue& q : queues_)
        if (q.port == port && q.queue == 0 && ports_[port].host() != nullptr)
            ports_[port].device().add_host_rules(0);
}

void ReceiveQueues::renew_host(std::size_t port) {
    if (ports_[port].host() == nullptr)
        return;
    ports_[port].renew_host();
    for (const Queue& q : queues_) {
        recv::Source* const source = q.readers.front().source;
        if (q.port == port && source->hosts != nullptr)
            lcores_.ask(
                *q.worker, [](recv::Source* of, FrameRing* ring) { of->hosts = ring; }, source,
                &ports_[port].host()->add_source());
    }
    ports_[port].forget_former_host();
}

/// Makes the worker poll from now on, because the events that it waits for end.
void ReceiveQueues::stop_waiting(Worker& worker) {
    if (!worker.loop->can_wait())
        return;
    if (worker.loop->mode() == PollMode::interrupt)
        log_notice(LogType::runtime, "lcore {} polls adaptively from now on", worker.layout->lcore);
    lcores_.ask(
        worker,
        [](LcoreLoop* loop) {
            if (loop->mode() == PollMode::interrupt)
                loop->set_mode(PollMode::adaptive);
            loop->forget_events();
        },
        worker.loop.get());
}

}  // namespace spead::runtime
