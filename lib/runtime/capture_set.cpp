// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/capture_set.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <rte_cycles.h>

#include "port/sizes.hpp"

namespace spead::runtime {

stats::CaptureSnapshot CaptureSet::Ending::snapshot() const {
    stats::CaptureSnapshot s = capture->snapshot();
    s.number = number;
    s.former = former;
    for (std::size_t k = 0; k < capture->taps(); k++)
        add(s, capture->tap(k).counters());
    return s;
}

void CaptureSet::start(Stream& stream, const ReceivePlan& plan, const capture::Options& options,
                       const std::vector<unsigned>& control) {
    // A source that loses nothing by waiting waits for the disks, too, where nothing else needs it.
    const bool waits =
        options.only && stream.lanes.front()->rx->config.window.on_full == heap::FullPolicy::block;
    stream.capture = std::make_unique<capture::Capture>(
        plan.name, options, stream.lanes.size(), rte_get_tsc_hz(), [control] { run_on(control); },
        waits ? port::rx_frame_of(payload_in_ipv4(plan)) : 0);
    stream.capture_number = ++last_number_;
    for (std::size_t k = 0; k < stream.lanes.size(); k++) {
        StreamLane& lane = *stream.lanes[k];
        lane.tap_counts = {};
        lcores_.ask(
            *lane.worker,
            [](recv::SpeadLane* rx, capture::Tap* tap, recv::RxAgent* waiting) {
                rx->tap = tap;
                if (waiting != nullptr)
                    waiting->let_taps_block(true);
            },
            lane.rx.get(), &stream.capture->tap(k),
            waits ? &lane.worker->loop->receiver() : static_cast<recv::RxAgent*>(nullptr));
    }
}

bool CaptureSet::start_planned(Stream& stream, const ReceivePlan& plan,
                               const std::vector<unsigned>& control) {
    if (!plan.capture || !plan.enabled || stream.capture || planned_.contains(plan.name))
        return false;
    start(stream, plan, *plan.capture, control);
    planned_.insert(plan.name);
    return true;
}

void CaptureSet::take_back(Stream& stream) {
    planned_.erase(stream.name);
    stop(stream);
}

bool CaptureSet::stop(Stream& stream) {
    bool all_off = true;
    for (const auto& lane : stream.lanes)
        all_off &= lcores_
                       .try_ask(
                           *lane->worker, [](recv::SpeadLane* rx) { rx->tap = nullptr; }, lane->rx.get())
                       .has_value();
    if (!all_off) {
        // The lcore may still write into it.
        problems_.push_back(fmt::format(
            "stream {}: its capture cannot be ended, because an lcore does not answer", stream.name));
        static_cast<void>(stream.capture.release());
        return false;
    }
    stream.capture->end();
    ending_.push_back({stream.capture_number, stream.name, false, std::move(stream.capture)});
    return true;
}

void CaptureSet::stop_all(const Streams& streams) {
    for (const auto& s : streams)
        if (s->capture)
            stop(*s);
    for (const Ending& e : ending_)
        e.capture->finish();
    collect(streams);
}

/// Ends captures whose time is over, as if they had been stopped. Leaves those whose packets end in the
/// capture: these packets must not become heaps.
void CaptureSet::end_in_time(const Streams& streams) {
    for (const auto& s : streams) {
        if (!s->capture || !s->capture->out_of_time())
            continue;
        s->capture->close();
        if (!s->capture->tap(0).only())
            stop(*s);
    }
}

void CaptureSet::collect(const Streams& streams) {
    end_in_time(streams);
    for (const Ending& e : ending_)
        if (e.capture->ended())
            put_aside(e);
    std::erase_if(ending_, [](const Ending& e) { return e.capture->snapshot().finished; });
}

void CaptureSet::put_aside(const Ending& ending) {
    ending.capture->finish();
    if (const std::optional<std::string> news = ending.capture->news())
        failures_.push_back({ending.stream, ending.former, *news});
    const stats::CaptureSnapshot& past = past_.emplace_back(ending.snapshot());
    if (!past.failure.empty())
        problems_.push_back(fmt::format("stream {}: {}", ending.stream, past.failure));
}

std::vector<CaptureSet::Failure> CaptureSet::new_failures(const Streams& streams) {
    std::vector<Failure> all = std::exchange(failures_, {});
    for (const Ending& e : ending_)
        if (const std::optional<std::string> news = e.capture->news())
            all.push_back({e.stream, e.former, *news});
    for (const auto& s : streams)
        if (s->capture)
            if (const std::optional<std::string> news = s->capture->news())
                all.push_back({s->name, false, *news});
    return all;
}

void CaptureSet::stream_removed(const std::string& stream) {
    planned_.erase(stream);
    for (stats::CaptureSnapshot& c : past_)
        c.former |= c.stream == stream;
    for (Ending& e : ending_)
        e.former |= e.stream == stream;
}

std::vector<stats::CaptureSnapshot> CaptureSet::written(const Streams& streams) const {
    std::vector<stats::CaptureSnapshot> all = past_;
    for (const Ending& e : ending_)
        all.push_back(e.snapshot());
    for (const auto& s : streams)
        if (s->capture) {
            all.push_back(s->capture->snapshot());
            all.back().number = s->capture_number;
        }
    return all;
}

void CaptureSet::add_taken(const Streams& streams, std::vector<stats::CaptureSnapshot>& captures) const {
    std::size_t at = past_.size() + ending_.size();
    for (const auto& s : streams) {
        if (!s->capture)
            continue;
        for (const auto& lane : s->lanes)
            add(captures[at], lane->tap_counts);
        at++;
    }
}

std::optional<stats::CaptureSnapshot> CaptureSet::stopped(std::uint64_t number) const {
    for (const stats::CaptureSnapshot& c : past_)
        if (c.number == number)
            return c;
    return std::nullopt;
}

bool captures_over(const CaptureSet::Streams& streams) {
    return !streams.empty() && std::all_of(streams.begin(), streams.end(), [](const auto& s) {
        return s->capture && s->capture->over() && s->capture->tap(0).only();
    });
}

}  // namespace spead::runtime
