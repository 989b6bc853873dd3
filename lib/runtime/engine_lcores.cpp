// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// What lcores count, and what is reported of one that does not answer.
namespace spead::runtime {

namespace {

Clock::duration patience_of(const std::optional<double>& timeout, Clock::duration usual) {
    if (!timeout)
        return usual;
    return *timeout > 0 ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout))
                        : Clock::duration::max();
}

}  // namespace

void Engine::State::set_lcore_patience() {
    lcores.set_patience(patience_of(plan.runtime.lcore_timeout, surroundings.lcore_patience));
}

/// Whether an lcore that polls the port or sends on it is silent.
bool Engine::State::is_silent_on(std::size_t port) const {
    const std::vector<SendStream*> all = senders.all();
    return queues.is_silent_on(port) || std::any_of(all.begin(), all.end(), [port](const SendStream* s) {
               return s->port == port && is_silent(*s->worker);
           });
}

/// The lcore has fallen silent, or is back: its streams stand still, or go on.
void Engine::State::report_silence(const Worker& w, bool silent) {
    const double now = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string what = silent ? w.watch.sentence() : w.watch.end_sentence();
    std::vector<std::string> names;
    for (const auto& stream : streams) {
        if (part_on(*stream, w) == nullptr)
            continue;
        names.push_back(stream->name);
        const stats::StreamEvent kind = silent ? stats::StreamEvent::stalled : stats::StreamEvent::back;
        stream->past.events[static_cast<std::size_t>(kind)]++;
        stream->last_event = {kind, now, what};
    }
    for (const SendStream* const s : senders.on(w))
        names.push_back(s->plan.name);
    const std::string text =
        silent && !names.empty()
            ? fmt::format("{}; {} stand{} still", what, fmt::join(names, ", "), names.size() == 1 ? "s" : "")
            : what;
    log_limited(lcore_news, LogType::runtime, silent ? LogLevel::warning : LogLevel::notice, "{}", text);
    if (surroundings.on_lcore)
        surroundings.on_lcore(text);
    if (event_command)
        event_command->run({{"SPEAD_LCORE", fmt::format("{}", w.layout->lcore)},
                            {"SPEAD_CPU", fmt::format("{}", w.layout->cpu)},
                            {"SPEAD_STREAM", ""},
                            {"SPEAD_EVENT", silent ? "lcore_silent" : "lcore_back"},
                            {"SPEAD_TEXT", text},
                            {"SPEAD_TIME", fmt::format("{:.3f}", now)},
                            {"SPEAD_NAME", plan.runtime.name}});
}

/// Says in a snapshot, which may be of an earlier moment, which lcores are silent now.
void Engine::State::mark_silent(stats::Snapshot& snap) const {
    for (stats::LcoreSnapshot& l : snap.lcores)
        for (const auto& w : lcores) {
            if (w->layout->lcore != l.lcore)
                continue;
            l.silent_s = is_silent(*w) ? std::chrono::duration<double>(w->watch.silence()).count() : 0;
            l.silences = w->watch.silences();
            l.activity = l.silent_s > 0 ? w->watch.activity() : std::string();
            if (l.silent_s > 0)
                for (const stats::LcoreSnapshot::Share& share : l.streams)
                    for (stats::StreamSnapshot& s : snap.streams)
                        if (s.number == share.number && s.state == "received")
                            s.health = stats::kStalled;
        }
}

void Engine::mark_silent(stats::Snapshot& snapshot) const {
    const State& s = *state_;
    if (!s.stopped && s.started)
        snapshot.duration_s =
            std::chrono::duration<double>(Clock::now() - s.begin).count() - snapshot.cleared_s;
    s.mark_silent(snapshot);
}

/// Memory for a look, and what to look at.
std::unique_ptr<LcoreLook> Engine::State::look_of(Worker& w, LcoreLook::Depth depth) {
    std::unique_ptr<LcoreLook> look = w.spare != nullptr ? std::move(w.spare) : std::make_unique<LcoreLook>();
    const bool full = depth != LcoreLook::Depth::counts;
    look->loop = w.loop.get();
    look->depth = depth;
    look->parts.resize(w.parts.size());
    for (std::size_t i = 0; i < w.parts.size(); i++) {
        LcoreLook::OfPart& p = look->parts[i];
        p.part = w.parts[i];
        p.lane = w.parts[i]->lane.get();
        p.feed = w.parts[i]->feed;
        p.tap = w.parts[i]->tap_counts;
        p.done = w.parts[i]->done;
        p.stops.assign(plan.end.exit_on_stop ? p.lane->stops_seen.size() : 0, 0);
        if (full)
            p.details.fit(*p.lane);
    }
    look->sources.resize(w.sources.size());
    for (std::size_t i = 0; i < w.sources.size(); i++)
        look->sources[i].source = w.sources[i].get();
    look->sends.clear();
    for (SendStream* const s : senders.on(w))
        look->sends.push_back({s, s->sender.get(), s->impaired.get(), {}, false});
    return look;
}

/// Brings what the worker's lcore has counted up to date. An lcore that does not answer is left alone once it
/// is known to be silent: the look is taken when it comes back, or makes way for something else.
void Engine::State::look_at(Worker& w, LcoreLook::Depth depth) {
    if (w.lost)
        return;
    if (depth == LcoreLook::Depth::full_then_forget) {
        const auto take = [](std::unique_ptr<LcoreLook>& look) {
            look->take();
            return std::move(look);
        };
        keep(w, lcores.ask(w, take, look_of(w, depth)));
        return;
    }
    std::unique_ptr<LcoreLook> look = lcores.look(w, [&] { return look_of(w, depth); });
    if (look == nullptr)
        return;
    const bool enough = look->depth >= depth;
    keep(w, std::move(look));
    if (!enough)
        look_at(w, depth);
}

void Engine::State::keep(Worker& w, std::unique_ptr<LcoreLook> look) {
    const bool full = look->depth != LcoreLook::Depth::counts;
    w.counts.lcore = look->lcore;
    for (LcoreLook::OfPart& p : look->parts) {
        Part& part = *p.part;
        part.counts = p.counts;
        part.done = p.done;
        part.tap_counts = p.tap;
        part.blocked = p.blocked;
        part.stopped = p.stopped;
        std::swap(part.stops, p.stops);
        if (full)
            std::swap(part.details, p.details);
    }
    w.counts.ports.resize(look->sources.size());
    if (full)
        w.counts.sources.resize(look->sources.size());
    for (std::size_t i = 0; i < look->sources.size(); i++) {
        w.counts.ports[i] = look->sources[i].counts;
        if (full)
            w.counts.sources[i] = look->sources[i].details;
    }
    for (const LcoreLook::OfSend& s : look->sends) {
        s.stream->counts = s.counts;
        s.stream->stuck = s.stuck;
    }
    if (full)
        keep_peaks(w, elapsed());
    w.spare = std::move(look);
}

}  // namespace spead::runtime
