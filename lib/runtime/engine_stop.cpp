// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/log.hpp"
#include "base/units.hpp"
#include "base/waiting_time.hpp"
#include "runtime/engine_state.hpp"

/// The orderly end of a run: senders finish while receivers poll on (external buffers come back that way),
/// groups are left, streams flush, consumers drain, lcores are joined, ports stopped and closed.
namespace spead::runtime {

namespace {

/// How long packets on their way from our own sender are waited for, where a stream drops and where it
/// blocks.
constexpr auto kSettle = std::chrono::milliseconds(200);
constexpr auto kSettleBlocking = std::chrono::seconds(2);
/// A user who waits for a consumer so long is told.
constexpr auto kTell = std::chrono::seconds(3);

std::string seconds_text(std::chrono::nanoseconds d) {
    return fmt::format("{:g} s", std::chrono::duration<double>(d).count());
}

}  // namespace

void Engine::stop() noexcept {
    State& s = *state_;
    if (s.ended)
        return;
    s.stopping = true;
    s.lcores.end_soon();
    s.events.end();
    if (s.clock.started()) {
        s.carry_out([&s] { s.finish_sends(); });
        s.carry_out([&s] { s.ports.remember_rules(); });
        s.carry_out([&s] { s.ports.leave_groups(); });
        s.carry_out([&s] { s.settle_receives(); });
        s.carry_out([&s] { s.flush_receives(); });
        s.carry_out([&s] {
            for (std::string& lost : s.streams.lost_although_waited())
                s.problems.push_back(std::move(lost));
        });
        s.carry_out([&s] { s.end_consumers(); });
        s.carry_out([&s] { s.lcores.stop(s.surroundings.port_patience); });
        s.carry_out([&s] { s.end_filters(); });
        s.carry_out([&s] { s.captures.stop_all(s.streams.current()); });
        s.clock.stop();
    }
    s.ended = true;
    s.carry_out([&s] { s.stop_ports(); });
}

/// A step that fails keeps no other from being taken.
void Engine::State::carry_out(const std::function<void()>& step) noexcept {
    try {
        step();
    } catch (const std::exception& e) {
        problems.push_back(e.what());
    }
}

void Engine::State::end_consumers() {
    for (const auto& w : lcores)
        for (const Part* const part : w->parts)
            part->lane->queue.close();
    streams.end_users();
    consumers.join();
    streams.watch_sinks(clock.seconds());
    if (consumers.failed())
        problems.push_back(consumers.failure());
}

Engine::State::Look Engine::State::look() {
    Look l;
    for (const auto& w : lcores) {
        const auto pacing = lcores.try_ask(
            *w,
            [](const LcoreLoop* loop) {
                return std::any_of(loop->senders().begin(), loop->senders().end(),
                                   [](const auto* s) { return s->next_send_time() > rte_rdtsc(); });
            },
            &std::as_const(*w->loop));
        l.pacing |= pacing.value_or(false);
        counts.update(*w, LcoreLook::Depth::counts);
        for (const SendStream* const s : senders.on(*w))
            l.sent += s->counts.packets;
        for (const stats::RxCounters& source : w->counts.ports)
            l.received += source[PortOutcome::stream];
    }
    streams.look_for_blocked();
    for (const auto* const list : {&streams.current(), &streams.removed()})
        for (const auto& s : *list) {
            l.blocked |= s->blocked;
            for (const Part* const part : s->all_parts())
                if (const HeapTally* const tally = part->tally(); s->blocked && tally != nullptr)
                    l.finished += tally->done().all();
        }
    return l;
}

/// Calls `step` until it returns true; until `progress` has not changed for `patience`; or for `longest`.
/// While a stream waits for its consumer, only the consumer's patience counts.
Engine::State::Waited Engine::State::wait_for(const std::function<bool()>& step,
                                              std::uint64_t Look::*progress, Clock::duration patience,
                                              Clock::duration longest) {
    Look last;
    WaitingTime all(kRound);
    WaitingTime since(kRound);
    Clock::duration own{0};
    while (!step()) {
        ports.serve_hosts();
        const Look now = look();
        const Clock::duration before = all.total();
        const Clock::duration round = all.add() - before;
        since.add();
        if (!now.blocked)
            own += round;
        const bool moved =
            now.blocked ? now.finished != last.finished : now.*progress != last.*progress || now.pacing;
        // What a silent lcore does is not known.
        if (moved || now.blocked != last.blocked || lcores.any_silent())
            since.restart();
        last = now;
        if (now.blocked && since.total() > kTell && !told_of_consumers) {
            told_of_consumers = true;
            log_notice(LogType::runtime,
                       "waiting for the consumer of stream {}; another Ctrl-C ends the program at once",
                       blocked_streams());
        }
        if (now.blocked && since.total() > surroundings.consumer_patience)
            return Waited::consumer;
        if (!now.blocked && since.total() > patience)
            return Waited::stuck;
        if (own > longest)
            return Waited::too_long;
        std::this_thread::sleep_for(kStep);
    }
    return Waited::done;
}

/// The streams that wait for their consumers.
std::string Engine::State::blocked_streams() const {
    return fmt::format("{}", fmt::join(streams.blocked(), ", "));
}

std::string Engine::State::consumer_stuck() const {
    return fmt::format("the consumer of stream {} has not finished a heap for {}", blocked_streams(),
                       seconds_text(surroundings.consumer_patience));
}

void Engine::State::finish_sends() {
    const std::vector<SendStream*> all = senders.all();
    for (SendStream* const s : all)
        s->feeder->request_stop();
    const auto step = [&] {
        streams.let_go_of_consumers(stopping);
        for (SendStream* const s : all)
            senders.cut_if_too_long(*s, surroundings.longest_finish);
        return senders.done();
    };
    Waited waited = wait_for(step, &Look::sent, surroundings.port_patience, surroundings.longest_finish);
    if (waited == Waited::too_long) {
        for (SendStream* const s : all)
            if (!s->feeder->done())
                SenderSet::cut(*s, send::Cut::begun);
        waited = wait_for(step, &Look::sent, surroundings.port_patience, surroundings.longest_finish);
    }
    for (SendStream* const one : all) {
        SendStream& s = *one;
        const bool given_up = !s.feeder->done();
        const std::uint64_t left = given_up ? senders.backlog(s).all : 0;
        if (given_up)
            s.feeder->abandon();
        s.feeder->join();
        if (const std::string failure = s.feeder->failure(); !failure.empty())
            problems.push_back(failure);
        if (given_up && !s.worker->lost)
            give_up(s, waited, left);
        else if (s.cut != send::Cut::nothing)
            s.unfinished =
                lcores
                    .try_ask(
                        *s.worker, [](const send::Sender* sender) { return sender->counters().aborted; },
                        &std::as_const(*s.sender))
                    .value_or(0);
        if (!given_up && s.unfinished != 0)
            remarks.push_back(fmt::format(
                "send {}: {} heaps were given up, at its rate they would have taken too long; the stop heaps "
                "were sent",
                s.plan.name, s.unfinished));
    }
}

/// `left`: packets that the port has not taken.
void Engine::State::give_up(SendStream& s, Waited why, std::uint64_t left) {
    const std::string what =
        fmt::format("send {}: given up with {} heaps in flight", s.plan.name, s.sender->in_flight());
    if (ports[s.port].is_away())
        remarks.push_back(
            fmt::format("{}; the network interface {} of its port is away", what, ports[s.port].away()));
    else if (!ports[s.port].is_on())
        remarks.push_back(fmt::format("{}; port {} is stopped", what, ports[s.port].device().name()));
    else if (s.cut != send::Cut::nothing &&
             left == 0)  // the driver keeps what it was given until its port stops
        remarks.push_back(what + "; at its rate they would have taken too long");
    else if (why == Waited::consumer)
        problems.push_back(fmt::format("{}; {}", what, consumer_stuck()));
    else
        // Whoever interrupts the run does not want to wait for the rest.
        (interrupted ? remarks : problems)
            .push_back(fmt::format("{}; port {} takes no more packets: {}", what,
                                   ports[s.port].device().name(), senders.suspects_of(s)));
}

/// Packets of ours that are still in a ring are received before the streams are flushed.
void Engine::State::settle_receives() {
    const auto own = [this](const ReceivePlan& r) {
        return ports[r.port].device().capabilities().receives_own;
    };
    const bool blocks = std::any_of(streams.current().begin(), streams.current().end(), [](const auto& s) {
        return !s->parts.empty() && s->parts.front()->lane->config.window.on_full == heap::OnFull::block;
    });
    const auto step = [&] {
        streams.let_go_of_consumers(stopping);
        const stats::Snapshot now = snapshots.take();
        return std::all_of(plan.receives.begin(), plan.receives.end(), [&](const ReceivePlan& r) {
            const stats::PortSnapshot& p = now.ports[ports.index_of(r.port)];
            return !own(r) || p.rx_packets >= p.tx_packets;
        });
    };
    if (!senders.all().empty() && std::any_of(plan.receives.begin(), plan.receives.end(), own))
        wait_for(step, &Look::received, blocks ? Clock::duration(kSettleBlocking) : Clock::duration(kSettle));
    // What is on its way between lcores arrives before they stop.
    queues.close_distributors();
    const auto arrived = [this] {
        streams.let_go_of_consumers(stopping);
        return queues.packets_between_lcores() == 0 || lcores.any_lost();
    };
    if (wait_for(arrived, &Look::received, surroundings.consumer_patience) != Waited::done)
        problems.push_back(fmt::format(
            "{} packets on their way between lcores were not taken in time, and are counted nowhere else",
            queues.packets_between_lcores()));
    for (const auto& w : lcores)
        static_cast<void>(lcores.try_ask(
            *w, [](LcoreLoop* loop) { loop->stop_receiving(); }, w->loop.get()));
}

/// A stream that blocks waits for its consumer, which may need its time: its source lost nothing, and nothing
/// is lost here.
void Engine::State::flush_receives() {
    const auto flush = [this] {
        streams.let_go_of_consumers(stopping);
        bool all = true;
        // Heaps of an lcore that is lost are not waited for.
        for (const auto& w : lcores)
            all &=
                lcores
                    .try_ask(
                        *w, [](recv::RxAgent* receiver) { return receiver->flush(); }, &w->loop->receiver())
                    .value_or(true);
        return all;
    };
    if (wait_for(flush, &Look::received, surroundings.consumer_patience) == Waited::done)
        return;
    problems.push_back(consumer_stuck() + "; the heaps that wait for it are dropped");
    // Told now: its thread is joined next, which may never end.
    log_error(LogType::runtime, "{}", problems.back());
    for (const auto& w : lcores)
        static_cast<void>(lcores.try_ask(
            *w, [](recv::RxAgent* receiver) { receiver->drop_rest(); }, &w->loop->receiver()));
}

void Engine::State::stop_ports() {
    // Not from under an lcore that is still inside a queue.
    if (lcores.any_lost())
        return;
    for (const auto& w : lcores)
        w->loop->forget_events();
    for (SendStream* const s : senders.all())
        if (s->impaired && !s->impaired->empty()) {
            s->impaired->give_up();
            problems.push_back(
                fmt::format("send {}: packets that `impair` held back were dropped, the port took no more",
                            s->plan.name));
        }
    for (std::size_t i = 0; i < ports.size(); i++)
        ports[i].device().stop();
    for (SendStream* const s : senders.all())
        s->sender->collect(rte_rdtsc());
    ports.report_end(problems, remarks);
    queues.clear();
    for (SendStream* const s : senders.all()) {
        s->registration.reset();
        s->feeder.reset();
    }
    for (std::size_t i = 0; i < ports.size(); i++)
        ports[i].device().close();
}

}  // namespace spead::runtime
