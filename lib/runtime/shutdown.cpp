// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/shutdown.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/counted.hpp"
#include "base/log.hpp"
#include "base/waiting_time.hpp"
#include "runtime/paths.hpp"
#include "runtime/receivers.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

namespace {

/// Limits the wait for packets of our own senders, where a stream drops and where it blocks.
constexpr auto kSettle = std::chrono::milliseconds(200);
constexpr auto kSettleBlocking = std::chrono::seconds(2);
/// Limits the length of a round that counts as waiting for the holders of packets: see WaitingTime.
constexpr std::chrono::milliseconds kLongestHolderRound{100};

std::string seconds_text(std::chrono::nanoseconds d) {
    return fmt::format("{:g} s", std::chrono::duration<double>(d).count());
}

}  // namespace

void Shutdown::end_run(bool interrupted) noexcept {
    carry_out([&] { finish_sends(interrupted); });
    carry_out([&] { of_.ports.remember_rules(); });
    carry_out([&] { of_.ports.leave_groups(); });
    carry_out([&] { settle_receives(); });
    carry_out([&] { finish_gathering(); });
    carry_out([&] { flush_receives(); });
    carry_out([&] {
        for (std::string& lost : of_.streams.lost_although_waited())
            of_.notes.problems.push_back(std::move(lost));
    });
    carry_out([&] { end_consumers(); });
    stop_lcores();
    carry_out([&] { end_filters(); });
    carry_out([&] { end_engines(); });
    carry_out([&] { of_.captures.stop_all(of_.streams.current()); });
    carry_out([&] { of_.streams.watch_captures(of_.captures, of_.clock.seconds()); });
    of_.clock.stop();
}

void Shutdown::stop_lcores() noexcept {
    carry_out([&] { of_.lcores.stop(patience_.port); });
}

void Shutdown::end_ports() noexcept {
    carry_out([&] { stop_ports(); });
}

void Shutdown::carry_out(const std::function<void()>& step) noexcept {
    try {
        step();
    } catch (const std::exception& e) {
        of_.notes.problems.emplace_back(e.what());
    }
}

void Shutdown::end_consumers() {
    of_.engines.end_fetches();
    for (const auto& w : of_.lcores)
        for (const StreamLane* const lane : w->lanes)
            lane->rx->queue.close();
    of_.streams.end_users();
    of_.consumers.join();
    end_chunks();
    of_.streams.watch_sinks(of_.clock.seconds());
    if (of_.consumers.failed())
        of_.notes.problems.push_back(of_.consumers.failure());
}

/// Lets the consumers take the chunks that wait.
void Shutdown::end_chunks() {
    const auto all_ended = [this] {
        bool all = true;
        for (const auto* const list : {&of_.streams.current(), &of_.streams.removed()})
            for (const auto& s : *list)
                s->for_each_chunks([&all](StreamChunks& chunks) {
                    chunks.close();
                    all &= chunks.ended();
                });
        return all;
    };
    if (wait_for(all_ended, {&EndProgress::finished, patience_.consumer}) == EndWait::Result::done)
        return;
    of_.notes.problems.push_back(
        fmt::format("the consumer of chunks has not finished one for {}", seconds_text(patience_.consumer)));
    // Reported now: its thread is joined later, which may never end.
    log_error(LogType::runtime, "{}", of_.notes.problems.back());
}

EndProgress Shutdown::look() {
    EndProgress l;
    for (const auto& w : of_.lcores) {
        const auto pacing = of_.lcores.try_ask(
            *w,
            [](const LcoreLoop* loop) {
                return std::any_of(loop->senders().begin(), loop->senders().end(),
                                   [](const auto* s) { return s->next_send_time() > rte_rdtsc(); });
            },
            &std::as_const(*w->loop));
        l.pacing |= pacing.value_or(false);
        of_.counts.update(*w, LcoreLook::Depth::counts);
        for (const SendStream* const s : of_.senders.on(*w))
            l.sent += s->counts.packets;
        for (const stats::RxCounters& source : w->counts.ports)
            l.received += source[PortOutcome::stream];
    }
    l.silent = of_.lcores.any_silent();
    of_.streams.look_for_blocked();
    for (const auto* const list : {&of_.streams.current(), &of_.streams.removed()})
        for (const auto& s : *list) {
            l.blocked |= s->blocked;
            s->for_each_chunks([&l](const StreamChunks& chunks) { l.finished += chunks.finished(); });
            for (const StreamLane* const lane : s->all_lanes())
                if (const HeapTally* const tally = lane->tally(); s->blocked && tally != nullptr)
                    l.finished += tally->done().all();
        }
    return l;
}

/// Does what a round of the run does for others, while the end waits.
void Shutdown::serve() {
    of_.ports.serve_hosts();
    of_.engines.watch();
}

/// Calls `step` until it returns true, or until EndWait ends the wait.
EndWait::Result Shutdown::wait_for(const std::function<bool()>& step, const EndWait::Limits& limits) {
    EndWait wait(limits, patience_.consumer);
    while (!step()) {
        serve();
        const std::optional<EndWait::Result> result = wait.round(look());
        if (wait.is_held_up() && !reported_consumers_) {
            reported_consumers_ = true;
            log_notice(LogType::runtime,
                       "waiting for the consumer of stream {}; another Ctrl-C ends the program at once",
                       blocked_streams());
        }
        if (result)
            return *result;
        std::this_thread::sleep_for(kStep);
    }
    return EndWait::Result::done;
}

/// Returns the streams that wait for their consumers.
std::string Shutdown::blocked_streams() const {
    return fmt::format("{}", fmt::join(of_.streams.blocked(), ", "));
}

std::string Shutdown::consumer_stuck() const {
    return fmt::format("the consumer of stream {} has not finished a heap for {}", blocked_streams(),
                       seconds_text(patience_.consumer));
}

void Shutdown::finish_sends(bool interrupted) {
    const std::vector<SendStream*> all = of_.senders.all();
    for (SendStream* const s : all)
        s->heap_source->request_stop();
    const auto step = [&] {
        of_.streams.let_go_of_consumers(true);
        for (SendStream* const s : all)
            of_.senders.cut_if_too_long(*s, patience_.longest_finish);
        return of_.senders.done();
    };
    const EndWait::Limits limits{&EndProgress::sent, patience_.port, patience_.longest_finish};
    EndWait::Result waited = wait_for(step, limits);
    if (waited == EndWait::Result::too_long) {
        for (SendStream* const s : all)
            if (!s->heap_source->done())
                SenderSet::cut(*s, send::Cut::begun);
        waited = wait_for(step, limits);
    }
    for (SendStream* const s : all)
        finish_send(*s, waited, interrupted);
}

void Shutdown::finish_send(SendStream& s, EndWait::Result waited, bool interrupted) {
    const bool given_up = !s.heap_source->done();
    const std::uint64_t left = given_up ? of_.senders.backlog(s).all : 0;
    if (given_up)
        s.heap_source->abandon();
    s.heap_source->join();
    if (const std::string failure = s.heap_source->failure(); !failure.empty())
        of_.notes.problems.push_back(failure);
    if (given_up && !s.worker->lost)
        give_up(s, waited, left, interrupted);
    else if (s.cut != send::Cut::nothing)
        s.unfinished =
            of_.lcores
                .try_ask(
                    *s.worker, [](const send::Sender* sender) { return sender->counters().aborted; },
                    &std::as_const(*s.sender))
                .value_or(0);
    if (!given_up && s.unfinished != 0)
        of_.notes.remarks.push_back(fmt::format(
            "send {}: {} given up, because {} would have taken too long at its "
            "rate; the stop heaps were sent",
            s.plan.name, counted_were(s.unfinished, "heaps"), word_for(s.unfinished, "it", "they")));
}

/// Gives up the sender's heaps. `left`: packets that the port has not taken.
void Shutdown::give_up(SendStream& s, EndWait::Result why, std::uint64_t left, bool interrupted) {
    const std::string what = fmt::format("send {}: given up with {} in flight", s.plan.name,
                                         counted(s.sender->in_flight(), "heaps"));
    if (of_.ports[s.port].is_detached())
        of_.notes.remarks.push_back(fmt::format("{}; the network interface {} of its port is detached", what,
                                                of_.ports[s.port].detached_netdev()));
    else if (!of_.ports[s.port].is_on())
        of_.notes.remarks.push_back(
            fmt::format("{}; port {} is stopped", what, of_.ports[s.port].device().name()));
    else if (s.cut != send::Cut::nothing &&
             left == 0)  // the driver keeps what it was given until its port stops
        of_.notes.remarks.push_back(what + "; that would have taken too long at its rate");
    else if (why == EndWait::Result::consumer)
        of_.notes.problems.push_back(fmt::format("{}; {}", what, consumer_stuck()));
    else
        // A user who interrupts the run does not want to wait for the rest.
        (interrupted ? of_.notes.remarks : of_.notes.problems)
            .push_back(fmt::format("{}; port {} takes no more packets: {}", what,
                                   of_.ports[s.port].device().name(), of_.senders.suspects_of(s)));
}

/// Receives the packets of our own senders that are still in a ring, before the streams are flushed.
void Shutdown::settle_receives() {
    const auto own = [this](const ReceivePlan& r) {
        return all_paths(
            r, [&](const std::string& port) { return of_.ports[port].device().capabilities().receives_own; });
    };
    const bool blocks =
        std::any_of(of_.streams.current().begin(), of_.streams.current().end(), [](const auto& s) {
            return !s->lanes.empty() &&
                   s->lanes.front()->rx->config.window.on_full == heap::FullPolicy::block;
        });
    const auto step = [&] {
        of_.streams.let_go_of_consumers(true);
        const stats::Snapshot now = of_.snapshots.take();
        return std::all_of(of_.plan.receives.begin(), of_.plan.receives.end(), [&](const ReceivePlan& r) {
            return !own(r) || all_paths(r, [&](const std::string& port) {
                const stats::PortSnapshot& p = now.ports[of_.ports.index_of(port)];
                return p.rx_packets >= p.tx_packets;
            });
        });
    };
    if (!of_.senders.all().empty() && std::any_of(of_.plan.receives.begin(), of_.plan.receives.end(), own))
        wait_for(step, {&EndProgress::received,
                        blocks ? Clock::duration(kSettleBlocking) : Clock::duration(kSettle)});
    // Packets between lcores arrive before these stop.
    of_.queues.close_distributors();
    const auto arrived = [this] {
        of_.streams.let_go_of_consumers(true);
        return of_.queues.packets_between_lcores() == 0 || of_.lcores.any_lost() || of_.engines.any_stalled();
    };
    // An lcore takes none while its engine stands still, and others may go on for ever.
    if (wait_for(arrived, {&EndProgress::received, patience_.consumer}) != EndWait::Result::done ||
        (of_.engines.any_stalled() && of_.queues.packets_between_lcores() != 0))
        of_.notes.problems.push_back(
            fmt::format("{} not taken in time between lcores, and in no other count",
                        counted_were(of_.queues.packets_between_lcores(), "packets")));
    for (const auto& w : of_.lcores)
        static_cast<void>(of_.lcores.try_ask(
            *w, [](LcoreLoop* loop) { loop->stop_receiving(); }, w->loop.get()));
}

/// Waits until the engines have moved the payload that they were given, or gives it up: heaps without all of
/// theirs count as device_error.
void Shutdown::finish_gathering() {
    if (!of_.engines.any())
        return;
    const auto finish = [](recv::RxAgent* receiver) { return receiver->finish_gathering(rte_rdtsc()); };
    if (engines_finish(of_.lcores, finish, [this] { serve(); }))
        return;
    of_.notes.problems.push_back(
        fmt::format("an engine has not moved the last payload for {}; heaps without all of theirs are lost",
                    seconds_text(kGatherPatience)));
    give_up_engines();
}

void Shutdown::give_up_engines() {
    ask_receivers(of_.lcores, [](recv::RxAgent* receiver) {
        receiver->give_up_gathering();
        return true;
    });
}

/// Stops the engines. Lcores have been joined.
void Shutdown::end_engines() {
    for (std::string& why : of_.engines.failures())
        of_.notes.problems.push_back(std::move(why));
    for (std::string& stuck : of_.engines.stop())
        of_.notes.problems.push_back(std::move(stuck));
    of_.engines.watch();
}

/// Flushes the streams. A stream that blocks waits for its consumer: its source lost nothing, and nothing is
/// lost here.
void Shutdown::flush_receives() {
    const auto flush = [this] {
        of_.streams.let_go_of_consumers(true);
        // Heaps of an lcore that is lost are not waited for.
        return ask_receivers(of_.lcores, [](recv::RxAgent* receiver) { return receiver->flush(); });
    };
    if (wait_for(flush, {&EndProgress::received, patience_.consumer}) == EndWait::Result::done)
        return;
    of_.notes.problems.push_back(consumer_stuck() + "; the heaps that wait for it are dropped");
    // Reported now: its thread is joined next, which may never end.
    log_error(LogType::runtime, "{}", of_.notes.problems.back());
    const auto drop = [](recv::RxAgent* receiver) { return receiver->drop_rest(); };
    // Waiting packets may still go to engines that work. One that does not is given up, in its turn.
    for (std::size_t turns = 0;
         turns <= of_.engines.count() && !engines_finish(of_.lcores, drop, [this] { serve(); }); turns++)
        give_up_engines();
}

/// Takes back the buffers that filters hold, while their ports still run. Missing ones are reported, and
/// their pool stays allocated. Lcores have been joined.
void Shutdown::end_filters() {
    const auto each = [this](const auto& function) {
        for (const auto& w : of_.lcores)
            if (!w->lost)
                for (StreamLane* const lane : w->lanes)
                    if (lane->rx->filter)
                        function(*lane->rx);
    };
    each([](recv::SpeadLane& lane) { lane.filter->ending(); });
    for (WaitingTime waited(kLongestHolderRound);;) {
        std::uint64_t out = 0;
        each([&out](recv::SpeadLane& lane) {
            lane.filter->reclaim(lane.counters);
            out += lane.filter->packets_out();
        });
        if (out == 0 || waited.add() > patience_.holder)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    each([this](recv::SpeadLane& lane) {
        if (const std::uint32_t out = lane.filter->packets_out(); out != 0)
            of_.notes.problems.push_back(
                fmt::format("stream {}: {} not given back; the memory stays allocated", lane.config.name,
                            counted_were(out, "held packets")));
    });
}

void Shutdown::stop_ports() {
    // Not from under an lcore that is still inside a queue.
    if (of_.lcores.any_lost())
        return;
    for (const auto& w : of_.lcores)
        w->loop->forget_events();
    for (SendStream* const s : of_.senders.all())
        if (s->impaired && !s->impaired->empty()) {
            s->impaired->give_up();
            of_.notes.problems.push_back(fmt::format(
                "send {}: packets that `impair` held back were dropped, because the port took no more",
                s->plan.name));
        }
    for (std::size_t i = 0; i < of_.ports.size(); i++)
        of_.ports[i].device().stop();
    for (SendStream* const s : of_.senders.all())
        s->sender->collect(rte_rdtsc());
    of_.ports.report_end(of_.notes.problems, of_.notes.remarks);
    of_.queues.clear();
    for (SendStream* const s : of_.senders.all()) {
        s->registration.reset();
        s->heap_source.reset();
    }
    for (std::size_t i = 0; i < of_.ports.size(); i++)
        of_.ports[i].device().close();
}

}  // namespace spead::runtime
