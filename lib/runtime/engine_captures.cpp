// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "runtime/engine_state.hpp"

/// Captures of streams that are started and stopped during the run.
namespace spead::runtime {

namespace {

std::size_t stream_index(const Plan& plan, const std::string& name) {
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (plan.receives[i].name == name)
            return i;
    throw_error(name, "there is no such stream");
}

}  // namespace

void Engine::start_capture(const std::string& stream, const capture::Options& options) {
    State& s = *state_;
    const std::size_t i = stream_index(s.plan, stream);
    s.lcores.need_answers();
    if (s.streams.current()[i]->capture)
        throw_error(stream, "it is being captured already; stop that capture first");
    if (s.streams.current()[i]->parts.empty())
        throw_error(stream, "it is not received now; start it first");
    s.captures.start(*s.streams.current()[i], s.plan.receives[i], options, s.layout.control_cpus());
}

std::uint64_t Engine::stop_capture(const std::string& stream) {
    State& s = *state_;
    const std::size_t i = stream_index(s.plan, stream);
    s.lcores.need_answers();
    if (!s.streams.current()[i]->capture)
        throw_error(stream, "it is not being captured");
    if (!s.captures.stop(*s.streams.current()[i]))
        throw_error(stream, "its capture cannot be ended, an lcore does not answer");
    return s.streams.current()[i]->capture_number;
}

std::optional<stats::CaptureSnapshot> Engine::stopped_capture(std::uint64_t number) const {
    return state_->captures.stopped(number);
}

/// Captures that the plan asks for, of streams that are received.
void Engine::State::start_planned_capture(std::size_t stream) {
    const ReceivePlan& r = plan.receives[stream];
    if (r.capture && r.enabled && !streams.current()[stream]->capture)
        captures.start(*streams.current()[stream], r, *r.capture, layout.control_cpus());
}

}  // namespace spead::runtime
