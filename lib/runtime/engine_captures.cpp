// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <rte_cycles.h>

#include "base/error.hpp"
#include "port/sizes.hpp"
#include "runtime/engine_state.hpp"

/// Captures of streams: started and stopped, with the run or during it, and what they counted.
namespace spead::runtime {

namespace {

std::size_t stream_index(const Plan& plan, const std::string& name) {
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (plan.receives[i].name == name)
            return i;
    throw_error(name, "there is no such stream");
}

/// Its taps belong to no lcore any more.
stats::CaptureSnapshot told(const EndingCapture& ending) {
    stats::CaptureSnapshot s = ending.capture->snapshot();
    s.number = ending.number;
    s.former = ending.former;
    for (std::size_t k = 0; k < ending.capture->taps(); k++)
        add(s, ending.capture->tap(k).counters());
    return s;
}

}  // namespace

void Engine::start_capture(const std::string& stream, const capture::Options& options) {
    State& s = *state_;
    const std::size_t i = stream_index(s.plan, stream);
    s.lcores.need_answers();
    if (s.streams[i]->capture)
        throw_error(stream, "it is being captured already; stop that capture first");
    if (s.streams[i]->parts.empty())
        throw_error(stream, "it is not received now; start it first");
    s.start_capture(i, options);
}

std::uint64_t Engine::stop_capture(const std::string& stream) {
    State& s = *state_;
    const std::size_t i = stream_index(s.plan, stream);
    s.lcores.need_answers();
    if (!s.streams[i]->capture)
        throw_error(stream, "it is not being captured");
    if (!s.stop_capture(i))
        throw_error(stream, "its capture cannot be ended, an lcore does not answer");
    return s.streams[i]->capture_number;
}

std::optional<stats::CaptureSnapshot> Engine::stopped_capture(std::uint64_t number) const {
    for (const stats::CaptureSnapshot& c : state_->past_captures)
        if (c.number == number)
            return c;
    return std::nullopt;
}

void Engine::State::start_capture(std::size_t stream, const capture::Options& options) {
    Stream& s = *streams[stream];
    const ReceivePlan& r = plan.receives[stream];
    // A source that loses nothing by waiting waits for the disks, too, where nothing else needs it.
    const bool waits = options.only && s.parts.front()->lane->config.window.on_full == heap::OnFull::block;
    const std::vector<unsigned> control = layout.control_cpus();
    s.capture = std::make_unique<capture::Capture>(
        r.name, options, s.parts.size(), rte_get_tsc_hz(), [control] { run_on(control); },
        waits ? port::rx_frame_of(r.max_packet_size) : 0);
    s.capture_number = ++last_capture;
    for (std::size_t k = 0; k < s.parts.size(); k++) {
        Part& part = *s.parts[k];
        part.tap_counts = {};
        lcores.ask(
            *part.worker,
            [](recv::SpeadLane* lane, capture::Tap* tap, recv::RxAgent* waiting) {
                lane->tap = tap;
                if (waiting != nullptr)
                    waiting->let_taps_block(true);
            },
            part.lane.get(), &s.capture->tap(k),
            waits ? &part.worker->loop->receiver() : static_cast<recv::RxAgent*>(nullptr));
    }
}

/// Takes its taps off; its threads go on until all is in the files. False: an lcore does not answer.
bool Engine::State::stop_capture(std::size_t stream) {
    Stream& s = *streams[stream];
    bool all_off = true;
    for (const auto& part : s.parts)
        all_off &=
            lcores
                .try_ask(
                    *part->worker, [](recv::SpeadLane* lane) { lane->tap = nullptr; }, part->lane.get())
                .has_value();
    if (!all_off) {
        // That lcore may still write into it.
        problems.push_back(fmt::format("stream {}: its capture cannot be ended, an lcore does not answer",
                                       plan.receives[stream].name));
        static_cast<void>(s.capture.release());
        return false;
    }
    s.capture->end();
    ending_captures.push_back({s.capture_number, plan.receives[stream].name, false, std::move(s.capture)});
    return true;
}

/// At the end of a run: waits for the disks.
void Engine::State::stop_captures() {
    for (std::size_t i = 0; i < streams.size(); i++)
        if (streams[i]->capture)
            stop_capture(i);
    for (const EndingCapture& c : ending_captures)
        c.capture->finish();
    collect_captures();
}

/// Those that were to last so long end by themselves, as if they had been stopped. Where packets end in the
/// capture it stays: they must not become heaps.
void Engine::State::end_captures_in_time() {
    for (std::size_t i = 0; i < streams.size(); i++) {
        if (!streams[i]->capture || !streams[i]->capture->out_of_time())
            continue;
        streams[i]->capture->close();
        if (!streams[i]->capture->tap(0).only())
            stop_capture(i);
    }
}

/// Those whose files are ended are only told of from now on.
void Engine::State::collect_captures() {
    end_captures_in_time();
    for (const EndingCapture& c : ending_captures)
        if (c.capture->ended())
            collect(c);
    std::erase_if(ending_captures, [](const EndingCapture& c) { return c.capture->snapshot().finished; });
}

void Engine::State::collect(const EndingCapture& ending) {
    ending.capture->finish();
    stats::CaptureSnapshot& past = past_captures.emplace_back(told(ending));
    if (!past.failure.empty())
        problems.push_back(fmt::format("stream {}: {}", ending.stream, past.failure));
}

/// Before the lcores are asked: what is written was taken before.
std::vector<stats::CaptureSnapshot> Engine::State::written_captures() const {
    std::vector<stats::CaptureSnapshot> all = past_captures;
    for (const EndingCapture& c : ending_captures)
        all.push_back(told(c));
    for (const auto& s : streams)
        if (s->capture) {
            all.push_back(s->capture->snapshot());
            all.back().number = s->capture_number;
        }
    return all;
}

/// What the lcores have just said that they took, in the order of written_captures().
void Engine::State::add_taken(std::vector<stats::CaptureSnapshot>& captures) const {
    std::size_t at = past_captures.size() + ending_captures.size();
    for (const auto& s : streams) {
        if (!s->capture)
            continue;
        for (const auto& part : s->parts)
            add(captures[at], part->tap_counts);
        at++;
    }
}

/// Nothing is left to be done for a run that only captures.
bool Engine::State::captures_over() const {
    return all_sends().empty() && !streams.empty() &&
           std::all_of(streams.begin(), streams.end(), [](const auto& s) {
               return s->capture && s->capture->over() && s->capture->tap(0).only();
           });
}

}  // namespace spead::runtime
