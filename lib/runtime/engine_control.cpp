// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "runtime/engine_state.hpp"

/// What the control world asks of a running engine.
namespace spead::runtime {

const Plan& Engine::plan() const noexcept {
    return state_->plan;
}

void Engine::serve(Executor& executor) noexcept {
    state_->executor = &executor;
}

void Engine::stay() noexcept {
    state_->ends.stay();
}

void Engine::interrupt() noexcept {
    state_->interrupted = true;
    state_->lcores.end_soon();
}

/// A failure of the change's undo ends the run, too.
void Engine::reconfigure(const Plan& wanted) {
    State& s = *state_;
    s.need_running();
    try {
        s.reconfiguration.carry_out(wanted);
    } catch (const std::exception&) {
        if (s.reconfiguration.failed())
            interrupt();
        throw;
    }
}

void Engine::State::need_running() const {
    if (!clock.started() || clock.stopped())
        throw_error("runtime", "nothing runs that could be changed");
}

void Engine::stop_port(const std::string& port) {
    state_->need_running();
    state_->outages.stop(port);
}

void Engine::start_port(const std::string& port) {
    state_->need_running();
    state_->outages.start(port);
}

send::DummyResult Engine::dummy(const std::string& send, std::uint32_t packets) {
    return state_->senders.dummy(send, packets);
}

std::vector<std::vector<stats::RuleSnapshot>> Engine::rules() const {
    return state_->ports.rules();
}

std::vector<std::pair<std::string, std::uint64_t>> Engine::xstats(const std::string& port) const {
    const State& s = *state_;
    const std::size_t i = s.ports.index_of(port);
    if (i == s.ports.size())
        throw_error("port", "there is no port `{}`", port);
    return s.ports[i].xstats();
}

void Engine::mark_silent(stats::Snapshot& snapshot) const {
    const State& s = *state_;
    if (s.clock.started() && !s.clock.stopped())
        snapshot.duration_s = s.clock.seconds() - snapshot.cleared_s;
    s.counts.mark_silent(snapshot);
}

stats::Snapshot Engine::snapshot() {
    return state_->snapshots.since_cleared(state_->snapshots.take_detailed());
}

void Engine::clear() {
    State& s = *state_;
    s.lcores.need_answers();
    s.snapshots.clear();
    s.streams.forget_times();
}

stats::Snapshot Engine::totals() {
    return state_->snapshots.take();
}

}  // namespace spead::runtime
