// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_launch.h>

#include "runtime/engine_state.hpp"

/// The orderly end of a run: senders finish while receivers poll on (external buffers come back that way),
/// groups are left, streams flush, consumers drain, lcores are joined, ports stopped and closed.
namespace spead::runtime {

namespace {

constexpr auto kStep = std::chrono::milliseconds(1);
/// A party that makes no progress for so long is given up.
constexpr auto kPatience = std::chrono::seconds(2);
/// How long packets on their way from our own sender are waited for.
constexpr auto kSettle = std::chrono::milliseconds(200);

/// Calls `step` until it returns true, or until `progress` has not changed for `patience`. Returns whether it
/// did.
template <typename Step, typename Progress>
bool wait_for(Step&& step, Progress&& progress, Clock::duration patience) {
    auto last = progress();
    Clock::time_point since = Clock::now();
    while (!step()) {
        if (const auto now = progress(); now != last) {
            last = now;
            since = Clock::now();
        }
        if (Clock::now() - since > patience)
            return false;
        std::this_thread::sleep_for(kStep);
    }
    return true;
}

}  // namespace

void Engine::stop() {
    State& s = *state_;
    if (s.stopped)
        return;
    if (s.started) {
        s.finish_sends();
        s.leave_groups();
        s.settle_receives();
        s.flush_receives();
        for (Stream& stream : s.streams)
            stream.lane->queue.close();
        s.consumers.join();
        if (s.consumers.failed())
            s.problems.push_back(s.consumers.failure());
        s.stop_lcores();
        s.duration = std::chrono::duration<double>(Clock::now() - s.begin).count();
    }
    s.stopped = true;
    s.stop_ports();
}

void Engine::State::finish_sends() {
    for (SendStream& s : sends)
        s.feeder->request_stop();
    const auto in_flight = [this] {
        std::uint64_t sum = 0;
        for (const auto& w : workers)
            w->loop->mailbox().call([&] {
                for (const send::Sender* const sender : w->loop->senders())
                    sum += sender->counters().packets;
            });
        return sum;
    };
    if (!wait_for([this] { return sends_done(); }, in_flight, kPatience)) {
        for (SendStream& s : sends)
            if (!s.feeder->done()) {
                // Whoever interrupts the run does not want to wait for the rest.
                (interrupted ? remarks : problems)
                    .push_back(fmt::format(
                        "send {}: given up with {} heaps in flight; port {} takes no more packets",
                        plan.sends[static_cast<std::size_t>(&s - sends.data())].name, s.sender->in_flight(),
                        ports[s.port]->name()));
                s.feeder->abandon();
            }
    }
    for (SendStream& s : sends) {
        s.feeder->join();
        if (const std::string failure = s.feeder->failure(); !failure.empty())
            problems.push_back(failure);
    }
}

/// Packets of ours that are still in a ring are received before the streams are flushed.
void Engine::State::settle_receives() {
    const auto received = [this] {
        std::uint64_t sum = 0;
        for (const stats::PortSnapshot& p : take_snapshot().ports)
            sum += p.rx_packets;
        return sum;
    };
    const auto own = [this](const ReceivePlan& r) {
        return ports[port_index(r.port)]->capabilities().receives_own;
    };
    if (!sends.empty() && std::any_of(plan.receives.begin(), plan.receives.end(), own))
        wait_for([this] { return everything_received(take_snapshot()); }, received, kSettle);
    for (const auto& w : workers)
        w->loop->mailbox().call([&] { w->loop->stop_receiving(); });
}

void Engine::State::flush_receives() {
    const auto taken = [this] {
        std::uint64_t sum = 0;
        for (const Stream& s : streams)
            sum += s.lane->queue.taken();
        return sum;
    };
    const auto flush = [this] {
        bool all = true;
        for (const auto& w : workers)
            w->loop->mailbox().call([&] { all &= w->loop->receiver().flush(); });
        return all || consumers.failed() || consumers.budget_used_up();
    };
    if (wait_for(flush, taken, kPatience))
        return;
    problems.push_back("a consumer takes no more heaps; those that wait for it are dropped");
    for (const auto& w : workers)
        w->loop->mailbox().call([&] { w->loop->receiver().drop_rest(); });
}

void Engine::State::stop_lcores() {
    for (const auto& w : workers)
        w->loop->quit();
    for (const auto& w : workers)
        if (w->launched)
            rte_eal_wait_lcore(w->layout->lcore);
}

void Engine::State::stop_ports() {
    for (const auto& p : ports)
        p->stop();
    for (SendStream& s : sends)
        if (s.sender)
            s.sender->collect(rte_rdtsc());
    for (const auto& p : ports) {
        if (const std::string problem = p->output_problem(); !problem.empty())
            problems.push_back(problem);
        if (p->source_truncated())
            problems.push_back(fmt::format("port {}: its source is truncated", p->name()));
    }
    registrations.clear();
    for (SendStream& s : sends) {
        s.data_heaps = s.submitted();
        s.feeder.reset();
    }
    for (const auto& p : ports)
        p->close();
}

}  // namespace spead::runtime
