// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "runtime/engine_state.hpp"

/// Defines the functions that control code calls on a running engine.
namespace spead::runtime {

namespace {

std::size_t stream_index(const Plan& plan, const std::string& name) {
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (plan.receives[i].name == name)
            return i;
    throw_error(name, "there is no such stream");
}

}  // namespace

const Plan& Engine::plan() const noexcept {
    return state_->parts.plan;
}

bool Engine::has_ended(std::size_t stream) const {
    return state_->parts.streams.has_ended(stream);
}

void Engine::serve(Executor& executor) noexcept {
    state_->executor = &executor;
}

void Engine::stay() noexcept {
    state_->ends.stay();
}

void Engine::interrupt() noexcept {
    state_->interrupted = true;
    state_->parts.lcores.end_soon();
}

/// Ends the run, too, if the undo of the change fails.
void Engine::reconfigure(const Plan& wanted) {
    State& s = *state_;
    s.need_running();
    try {
        s.reconfiguration.carry_out(wanted);
    } catch (...) {
        if (s.reconfiguration.failed())
            interrupt();
        throw;
    }
}

void Engine::State::need_running() const {
    if (!parts.clock.started() || parts.clock.stopped())
        throw_error("runtime", "no run is in progress, so nothing can be changed");
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
    return state_->parts.senders.dummy(send, packets);
}

void Engine::add_region(const memory::Region& region) {
    state_->parts.senders.add_region(region);
}

void Engine::remove_region(const std::byte* base) {
    state_->parts.senders.remove_region(base);
}

std::vector<std::vector<stats::RuleSnapshot>> Engine::rules() const {
    return state_->parts.ports.rules();
}

std::vector<std::pair<std::string, std::uint64_t>> Engine::xstats(const std::string& port) const {
    const State& s = *state_;
    const std::size_t i = s.parts.ports.index_of(port);
    if (i == s.parts.ports.size())
        throw_error("port", "there is no port `{}`", port);
    return s.parts.ports[i].xstats();
}

void Engine::mark_silent(stats::Snapshot& snapshot) const {
    const State& s = *state_;
    if (s.parts.clock.started() && !s.parts.clock.stopped())
        snapshot.duration_s = s.parts.clock.seconds() - snapshot.cleared_s;
    s.counts.mark_silent(snapshot);
}

stats::Snapshot Engine::snapshot() {
    return state_->snapshots.since_cleared(state_->snapshots.take_detailed());
}

void Engine::clear() {
    State& s = *state_;
    s.parts.lcores.need_answers();
    s.snapshots.clear();
    s.parts.streams.forget_peaks();
}

stats::Snapshot Engine::totals() {
    return state_->snapshots.take();
}

void Engine::start_capture(const std::string& stream, const capture::Options& options) {
    RunParts& p = state_->parts;
    const std::size_t i = stream_index(p.plan, stream);
    Stream& s = *p.streams.current()[i];
    p.lcores.need_answers();
    if (s.capture)
        throw_error(stream, "it already has a capture; stop that capture first");
    if (s.lanes.empty())
        throw_error(stream, "it is stopped; start it first");
    if (p.ports[p.plan.receives[i].port].planned().device.split)
        throw_error(
            stream,
            "port {} splits its packets into memory that the CPU cannot read, and a capture reads all of "
            "them; capture without `split` of the port",
            p.plan.receives[i].port);
    p.captures.start(s, p.plan.receives[i], options, p.layout.control_cpus());
}

std::uint64_t Engine::stop_capture(const std::string& stream) {
    RunParts& p = state_->parts;
    Stream& s = *p.streams.current()[stream_index(p.plan, stream)];
    p.lcores.need_answers();
    if (!s.capture)
        throw_error(stream, "it has no capture");
    if (!p.captures.stop(s))
        throw_error(stream, "its capture cannot be ended, because an lcore does not answer");
    return s.capture_number;
}

std::optional<stats::CaptureSnapshot> Engine::stopped_capture(std::uint64_t number) const {
    return state_->parts.captures.stopped(number);
}

const std::vector<std::string>& Engine::problems() const noexcept {
    return state_->parts.notes.problems;
}

std::vector<std::string> Engine::remarks() const {
    return state_->parts.remarks();
}

}  // namespace spead::runtime
