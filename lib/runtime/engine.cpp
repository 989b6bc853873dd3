// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine.hpp"

#include <algorithm>
#include <array>
#include <poll.h>

#include <fmt/format.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/engine_state.hpp"

namespace spead::runtime {

namespace {

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kProgress = std::chrono::milliseconds(200);

/// What the ring is assumed to be filled with when the longest sleep of an idle lcore is worked out.
constexpr std::uint32_t kTypicalPacket = 1024;
constexpr std::uint64_t kTypicalLink = 10'000'000'000;

}  // namespace

Engine::State::State(const Plan& p, const Layout& l, const Surroundings& s)
    : plan(p),
      layout(l),
      surroundings(s),
      lcores(problems, {[this](const Worker& w, bool silent) { report_silence(w, silent); }, s.on_wait}),
      events(p.runtime.name, p.runtime.on_event, {s.on_event, s.on_lcore}),
      consumers(p.end.heaps),
      streams(lcores, ports, consumers, events, {s.make_sink, s.make_filter, s.user_queues}, problems) {
    set_lcore_patience();
}

Engine::Engine(const Plan& plan, const Layout& layout, const Surroundings& surroundings)
    : state_(std::make_unique<State>(plan, layout, surroundings)) {
    state_->ports.open(plan.ports, state_->layout.ports);
    state_->make_workers();
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        state_->start_planned_capture(i);
}

Engine::~Engine() {
    stop();
    if (!state_->lcores.any_lost())
        return;
    state_->carry_out([this] { state_->lcores.stop(state_->surroundings.port_patience); });
    if (state_->lcores.any_lost()) {
        log_error(LogType::runtime, "an lcore is still at work; its ports and memory are left to it");
        static_cast<void>(state_.release());
        return;
    }
    state_->carry_out([this] { state_->stop_ports(); });
}

void Engine::State::make_workers() {
    for (const WorkerLayout& w : layout.workers) {
        Worker& worker = lcores.add(w);
        std::uint32_t sleep = 1000;
        for (const QueueLayout& q : layout.queues)
            if (q.cpu == w.planned_cpu ||
                std::any_of(w.receives.begin(), w.receives.end(),
                            [&](std::size_t i) { return ports.index_of(plan.receives[i].port) == q.port; }))
                sleep = std::min(sleep, longest_sleep_us(ports[q.port].device().rx_sizes().descriptors,
                                                         kTypicalPacket, kTypicalLink));
        worker.loop =
            std::make_unique<LcoreLoop>(IdlePolicy(PollMode::adaptive, ReceivePlan{}.max_poll, sleep,
                                                   static_cast<double>(rte_get_tsc_hz()) / 1e6),
                                        layout.shares_cpus);
        if (w.heap_bytes != 0) {
            worker.arena = memory::Arena(w.heap_bytes, w.largest_heap);
            worker.shares.emplace(worker.arena.capacity());
        }
    }
    senders.make(plan.sends, interrupt_fd());
    queues.make(layout.queues);
    streams.make(plan.receives, layout.queues);
    queues.deliver(layout.queues, {plan, streams.current()});
    for (const auto& w : lcores) {
        const auto [mode, max_poll] = idling_of(*w);
        w->loop->set_mode(mode);
        w->loop->set_max_poll(max_poll);
    }
}

void Engine::start() {
    state_->launch();
}

void Engine::State::launch() {
    clock.start();
    ends.begin();
    ports.start();
    queues.connect();
    queues.arm_interrupts([this](const Worker& w) { return !senders.on(w).empty(); });
    launch_lcores();

    const std::vector<unsigned> control = layout.control_cpus();
    consumers.start(static_cast<unsigned>(control.size()), control, plan.runtime.live);
    queues.add_host_rules();
    ports.add_rules(layout.rules);
    ports.join(groups_of(plan), interrupt_fd());
    senders.start(control, interrupt_fd());
    starting = false;
}

Engine::Reason Engine::run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick) {
    State& s = *state_;
    s.run_interrupt_fd = interrupt_fd;
    s.lcores.set_interrupt(interrupt_fd);
    try {
        return s.run(tick);
    } catch (const LcoreLost&) {
        // Among the problems already.
        return Reason::failure;
    }
}

Engine::Reason Engine::State::run(const std::function<void(const stats::Snapshot&)>& tick) {
    Clock::time_point next_progress = Clock::now();
    for (;;) {
        // A negative descriptor is one that poll(2) passes over.
        std::array<pollfd, 2> ready{pollfd{run_interrupt_fd, POLLIN, 0},
                                    pollfd{executor == nullptr ? -1 : executor->fd(), POLLIN, 0}};
        const auto wait = static_cast<int>(std::chrono::milliseconds(kTick).count());
        if (poll(ready.data(), ready.size(), wait) > 0)
            interrupted |= ready[0].revents != 0;
        if (executor != nullptr)
            executor->serve();
        if (interrupted)
            return Reason::interrupted;
        ports.serve_hosts();
        senders.follow_next_hops();
        const bool failed = ports_failed();
        streams.share_stops(plan.receives);
        streams.let_go();
        streams.serve_users(plan.receives, queues.packets_between_lcores() != 0);
        captures.collect(streams.current());
        streams.watch_sinks(clock.seconds());
        senders.let_go(surroundings.longest_finish);
        const stats::Snapshot now = snapshots.take();
        health.watch(now, plan.receives, streams.current(), streams.removed_counts());
        senders.watch(now.duration_s, events);
        events.poll();
        if (failed)
            return Reason::failure;
        if (const std::optional<Reason> reason = ends.check(plan.end, end_facts(now)))
            return *reason;
        if (Clock::now() >= next_progress) {
            if (tick)
                tick(snapshots.since_cleared(snapshots.take_detailed()));
            next_progress = Clock::now() + kProgress;
        }
    }
}

EndFacts Engine::State::end_facts(const stats::Snapshot& now) {
    EndFacts f;
    f.failed = lcores.any_lost() || consumers.failed() || senders.failed() || sinks_over();
    f.heaps_used_up = consumers.budget_used_up();
    f.captured = senders.all().empty() && captures_over(streams.current());
    f.seconds = now.duration_s;
    // Packets that belong to no stream keep no run alive; heaps on their way to a slow consumer do.
    for (const stats::StreamSnapshot& s : now.streams) {
        f.progress += s.received + s.heaps_delivered;
        f.queued |= s.heaps_queued != 0;
    }
    f.silent = lcores.any_silent();
    f.receives = !plan.receives.empty();
    f.stop_items = plan.end.exit_on_stop && streams.all_stopped(plan.receives);
    if (ends.stays())
        return f;
    const auto all_streams = [this](const auto& is) {
        return std::all_of(plan.receives.begin(), plan.receives.end(),
                           [&](const ReceivePlan& r) { return is(ports[r.port].device()); });
    };
    f.sources_ended = all_streams([](const port::Port& p) { return p.exhausted(); });
    const bool any_sends =
        std::any_of(plan.sends.begin(), plan.sends.end(), [](const SendPlan& s) { return s.enabled; });
    f.sent = any_sends && senders.done();
    f.all_received = f.sent && everything_received(now);
    f.own_only = all_streams([](const port::Port& p) { return p.capabilities().receives_own; });
    return f;
}

bool Engine::State::everything_received(const stats::Snapshot& now) const {
    return std::all_of(plan.receives.begin(), plan.receives.end(), [&](const ReceivePlan& r) {
        const std::size_t p = ports.index_of(r.port);
        // What was impaired on purpose does not come, or comes twice.
        std::uint64_t come = now.ports[p].tx_packets;
        for (const SendStream* const s : senders.all())
            if (s->port == p)
                come += s->counts.impaired_duplicated - s->counts.impaired_lost - s->counts.impaired_dropped;
        return ports[p].device().capabilities().receives_own && now.ports[p].rx_packets >= come;
    });
}

const std::vector<std::string>& Engine::problems() const noexcept {
    return state_->problems;
}

std::vector<std::string> Engine::remarks() const {
    std::vector<std::string> all = state_->remarks;
    // What was known before the ports were open is among the layout's remarks.
    for (std::size_t i = 0; i < state_->ports.size(); i++)
        for (const std::string& remark : state_->ports[i].device().remarks())
            if (const auto& told = state_->layout.ports[i].device.remarks;
                std::find(told.begin(), told.end(), remark) == told.end())
                all.push_back(remark);
    return all;
}

}  // namespace spead::runtime
