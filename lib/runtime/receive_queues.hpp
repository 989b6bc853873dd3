// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recv/distributor.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/queue_assignment.hpp"
#include "runtime/stream.hpp"

namespace spead::runtime {

/// Holds one receive queue of a port in use.
struct Queue {
    std::size_t port = 0;
    std::uint16_t queue = 0;
    Worker* worker = nullptr;                        ///< its lcore polls the queue
    std::unique_ptr<recv::Distributor> distributor;  ///< null while one lcore has had all of it
    struct Reader {
        recv::Source* source;
        Worker* worker;
        std::size_t share;  ///< 0: the lcore that polls the queue; i+1: the distributor's i-th other
    };
    std::vector<Reader> readers;
};

/// Assigns the receive queues of a run to lcores, and streams to the lcores' tables.
///
/// Main thread only. Lcores exchange tables between two bursts, lcores behind a queue first. Waits end with
/// the lcores' patience (LcoreSet), and after kPassOnPatience for packets between lcores.
class ReceiveQueues {
  public:
    /// Refers to the streams that deliveries of a layout name by their index in the plan.
    struct Deliveries {
        const Plan& plan;
        const std::vector<std::unique_ptr<Stream>>& streams;  ///< in the order of plan.receives
    };

    /// Refers to both; they outlive the set.
    ReceiveQueues(LcoreSet& lcores, PortSet& ports) : lcores_(lcores), ports_(ports) {}

    /// Makes the queues, each read by the lcore that polls it.
    void make(const std::vector<QueueLayout>& layout);
    /// Gives the queues to their lcores; ports run.
    void connect();
    /// Puts lcores into interrupt mode, where their streams ask for it and it is possible. `sends`: whether
    /// the lcore sends, too.
    void arm_interrupts(const std::function<bool(const Worker&)>& sends);
    /// Delivers packets by `layout` from now on, which has the same queues. Streams that stay on their lcores
    /// always have a lane. Packets on their way to an lcore that loses the endpoint become unmatched, unless
    /// it loses all of them: then it takes these first. Throws Error.
    void deliver(const std::vector<QueueLayout>& layout, const Deliveries& to);

    /// Returns why the worker cannot wait for packets; empty if it can.
    std::string why_no_interrupts(const Worker& worker, bool sends) const;
    bool is_silent_on(std::size_t port) const;
    /// Returns the worker with the fewest streams among those that poll a queue of the port. The port has
    /// one.
    const Worker& least_busy(std::size_t port) const;

    /// Takes the port's queues from the lcores. Throws LcoreLost: then an lcore may still be inside the port.
    void take_off(std::size_t port);
    /// Gives the queues of the restarted port to the lcores; it may be another device than before.
    void put_on(std::size_t port);
    /// Steers IGMP, ARP, MLD and NDP to our own hosts, on ports that have one. Throws Error.
    void add_host_rules();
    void add_host_rules(std::size_t port);
    /// Makes the lcores pass such frames to a new host on the port, if it has one of ours.
    void renew_host(std::size_t port);

    std::size_t packets_between_lcores() const;
    /// Waits until packets between lcores have arrived.
    void close_distributors();
    void clear() noexcept { queues_.clear(); }

  private:
    Queue::Reader& reader(Queue& queue, Worker& worker);
    void connect(Queue& queue, const Queue::Reader& reader);
    void switch_queue(Queue& queue, const QueueLayout& to, const Deliveries& streams);
    void drain(const recv::Distributor& distributor, const Queue::Reader& reader) const;
    recv::SourceTables tables_of(const Queue::Reader& reader, const QueueLayout& queue,
                                 const Deliveries& to) const;
    static recv::Distributor::Table distribution(const Queue& queue, const QueueLayout& to, const Plan& plan);
    void stop_waiting(Worker& worker);

    LcoreSet& lcores_;
    PortSet& ports_;
    std::vector<Queue> queues_;  ///< as the layout's
    bool connected_ = false;     ///< ports run, and lcores poll their queues
};

}  // namespace spead::runtime
