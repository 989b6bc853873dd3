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
/// How long senders may take for the heaps in flight: at a low rate that could be hours.
constexpr auto kLongestFinish = std::chrono::seconds(5);
/// How long packets on their way from our own sender are waited for.
constexpr auto kSettle = std::chrono::milliseconds(200);

enum class Waited : std::uint8_t { done, stuck, too_long };

/// Calls `step` until it returns true, until `progress` has not changed for `patience`, or for `longest`.
template <typename Step, typename Progress>
Waited wait_for(Step&& step, Progress&& progress, Clock::duration patience,
                Clock::duration longest = Clock::duration::max()) {
    auto last = progress();
    const Clock::time_point begin = Clock::now();
    Clock::time_point since = begin;
    while (!step()) {
        const Clock::time_point time = Clock::now();
        if (const auto now = progress(); now != last) {
            last = now;
            since = time;
        }
        if (time - since > patience)
            return Waited::stuck;
        if (time - begin > longest)
            return Waited::too_long;
        std::this_thread::sleep_for(kStep);
    }
    return Waited::done;
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

/// Consumers that have failed or had their number of heaps take no more: no stream may wait for them.
void Engine::State::let_go_of_consumers() {
    if (!consumers.failed() && !consumers.budget_used_up())
        return;
    for (const auto& w : workers)
        w->loop->mailbox().call([&] {
            for (const auto& lane : w->lanes)
                lane->window.set_on_full(heap::OnFull::drop_newest);
        });
}

void Engine::State::finish_sends() {
    for (SendStream& s : sends)
        s.feeder->request_stop();
    const auto step = [this] {
        let_go_of_consumers();
        return sends_done();
    };
    const auto sent = [this] {
        std::uint64_t sum = 0;
        for (const auto& w : workers)
            w->loop->mailbox().call([&] {
                for (const send::Sender* const sender : w->loop->senders())
                    sum += sender->counters().packets;
            });
        return sum;
    };
    const Waited waited = wait_for(step, sent, kPatience, kLongestFinish);
    for (SendStream& s : sends) {
        const bool given_up = !s.feeder->done();
        if (given_up)
            s.feeder->abandon();
        s.feeder->join();
        if (const std::string failure = s.feeder->failure(); !failure.empty())
            problems.push_back(failure);
        if (!given_up)
            continue;
        const std::string what =
            fmt::format("send {}: given up with {} heaps in flight",
                        plan.sends[static_cast<std::size_t>(&s - sends.data())].name, s.sender->in_flight());
        // Whoever interrupts the run does not want to wait for the rest, and nobody for hours.
        if (waited == Waited::too_long)
            remarks.push_back(what + "; at its rate they would take too long");
        else
            (interrupted ? remarks : problems)
                .push_back(fmt::format("{}; port {} takes no more packets", what, ports[s.port]->name()));
    }
}

/// Packets of ours that are still in a ring are received before the streams are flushed.
void Engine::State::settle_receives() {
    const auto progress = [this] {
        std::uint64_t sum = 0;
        for (const stats::StreamSnapshot& s : take_snapshot().streams)
            sum += s.received + s.heaps_delivered;
        return sum;
    };
    const auto own = [this](const ReceivePlan& r) {
        return ports[port_index(r.port)]->capabilities().receives_own;
    };
    // A stream that blocks waits for its consumer, which may need its time.
    const bool blocks = std::any_of(plan.receives.begin(), plan.receives.end(),
                                    [](const ReceivePlan& r) { return r.on_full == OnFull::block; });
    const auto step = [this] {
        let_go_of_consumers();
        return everything_received(take_snapshot());
    };
    if (!sends.empty() && std::any_of(plan.receives.begin(), plan.receives.end(), own))
        wait_for(step, progress, blocks ? Clock::duration(kPatience) : Clock::duration(kSettle));
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
        let_go_of_consumers();
        bool all = true;
        for (const auto& w : workers)
            w->loop->mailbox().call([&] { all &= w->loop->receiver().flush(); });
        return all;
    };
    if (wait_for(flush, taken, kPatience) == Waited::done)
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
