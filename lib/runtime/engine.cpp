// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine.hpp"

#include <array>
#include <poll.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/end_facts.hpp"
#include "runtime/engine_state.hpp"

/// Runs an engine from its start to its end.
namespace spead::runtime {

namespace {

/// Holds how long run() waits for requests before its next round, and how often it calls tick.
constexpr auto kRunRound = std::chrono::milliseconds(20);
constexpr auto kTick = std::chrono::milliseconds(200);

}  // namespace

Engine::Engine(const Plan& plan, const Layout& layout, const EngineHooks& hooks)
    : state_(std::make_unique<State>(plan, layout, hooks)) {
    state_->parts.make(hooks.interrupt_fd);
}

Engine::~Engine() {
    stop();
    if (!state_->parts.lcores.any_lost())
        return;
    state_->shutdown.stop_lcores();
    if (state_->parts.lcores.any_lost()) {
        log_error(LogType::runtime, "an lcore is still at work; it keeps its ports and memory");
        static_cast<void>(state_.release());
        return;
    }
    state_->shutdown.end_ports();
}

void Engine::stop() noexcept {
    State& s = *state_;
    if (s.ended)
        return;
    s.parts.lcores.end_soon();
    if (s.parts.clock.started())
        s.shutdown.end_run(s.interrupted);
    s.parts.events.end();
    s.snapshots.note_ended();
    s.ended = true;
    s.shutdown.end_ports();
}

void Engine::start() {
    state_->ends.begin();
    state_->parts.launch(state_->hooks.interrupt_fd);
    state_->parts.streams.serve_chunks();
}

Engine::Reason Engine::run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick) {
    State& s = *state_;
    s.parts.lcores.set_interrupt(interrupt_fd);
    s.next_tick = State::Clock::now();
    for (;;) {
        // A negative descriptor is one that poll(2) passes over.
        std::array<pollfd, 2> ready{pollfd{interrupt_fd, POLLIN, 0},
                                    pollfd{s.executor == nullptr ? -1 : s.executor->fd(), POLLIN, 0}};
        const auto wait = static_cast<int>(std::chrono::milliseconds(kRunRound).count());
        if (poll(ready.data(), ready.size(), wait) > 0)
            s.interrupted |= ready[0].revents != 0;
        if (const std::optional<Reason> reason = step(tick))
            return *reason;
    }
}

std::optional<Engine::Reason> Engine::step(const std::function<void(const stats::Snapshot&)>& tick) {
    try {
        return state_->step(tick);
    } catch (const LcoreLost&) {
        // Among the problems already.
        return Reason::failure;
    }
}

std::optional<Engine::Reason> Engine::State::step(const std::function<void(const stats::Snapshot&)>& tick) {
    if (executor != nullptr)
        executor->serve();
    if (interrupted)
        return Reason::interrupted;
    parts.ports.serve_hosts();
    parts.senders.follow_addresses();
    parts.watch_engines();
    const bool ports_work = outages.watch();
    parts.streams.share_stops(parts.plan.receives);
    parts.streams.let_go();
    parts.streams.serve_users(parts.plan.receives, parts.queues.packets_between_lcores() != 0);
    parts.captures.collect(parts.streams.current());
    parts.streams.watch_captures(parts.captures, parts.clock.seconds());
    parts.streams.watch_sinks(parts.clock.seconds());
    parts.senders.let_go(hooks.longest_finish);
    reconfiguration.close_unused_ports();
    const stats::Snapshot now = snapshots.take();
    parts.health.watch(now, parts.plan.receives, parts.streams.current(), parts.streams.removed_counts());
    parts.senders.watch(now.duration_s, parts.events);
    parts.events.poll();
    if (!ports_work)
        return Reason::failure;
    const EndFacts facts =
        end_facts({parts.plan, parts.ports, parts.lcores, parts.senders, parts.consumers, parts.streams}, now,
                  ends.stays());
    if (const std::optional<Reason> reason = ends.check(parts.plan.end, facts))
        return reason;
    if (Clock::now() >= next_tick) {
        if (tick)
            tick(snapshots.since_cleared(snapshots.take_detailed()));
        next_tick = Clock::now() + kTick;
    }
    return std::nullopt;
}

}  // namespace spead::runtime
