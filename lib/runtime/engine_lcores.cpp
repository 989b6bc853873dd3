// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <poll.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// How the main thread reaches what worker lcores own, and what it does about an lcore that does not answer:
/// the lcore is waited for, told about, and given up only after a long time.
namespace spead::runtime {

namespace {

/// An lcore is looked after so often while it is waited for.
constexpr auto kSlice = std::chrono::milliseconds(20);
/// An lcore that is known to be silent is waited for so long when it is only looked at.
constexpr auto kGlance = std::chrono::milliseconds(1);
/// Whoever has the run end waits no longer than this for an lcore.
constexpr Clock::duration kEndPatience = std::chrono::seconds(10);
constexpr auto kTellWaiting = std::chrono::milliseconds(200);

bool readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return fd >= 0 && poll(&p, 1, 0) > 0;
}

}  // namespace

/// The job once the lcore has done it; null: the lcore is lost.
std::unique_ptr<LcoreJob> Engine::State::have_done(Worker& w, std::unique_ptr<LcoreJob> job) {
    Mailbox& mailbox = w.loop->mailbox();
    if (w.lost || !is_clear(w) || !mailbox.post(job))
        return nullptr;
    while (!mailbox.wait(kSlice))
        if (!keep_waiting(w)) {
            static_cast<void>(mailbox.withdraw());
            return nullptr;
        }
    heard(w);
    return mailbox.take();
}

/// A look that an lcore has not answered yet makes way. False: the lcore is lost.
bool Engine::State::is_clear(Worker& w) {
    Mailbox& mailbox = w.loop->mailbox();
    static_cast<void>(mailbox.withdraw());
    while (mailbox.busy() && !mailbox.wait(kSlice))
        if (!keep_waiting(w))
            return false;
    static_cast<void>(mailbox.take());
    return true;
}

/// How long an lcore that does not answer is waited for.
Clock::duration Engine::State::lcore_patience() const {
    const std::optional<double>& timeout = plan.runtime.lcore_timeout;
    Clock::duration patience = surroundings.lcore_patience;
    if (timeout)
        patience = *timeout > 0
                       ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout))
                       : Clock::duration::max();
    return stopping || told_to_end() ? std::min(patience, kEndPatience) : patience;
}

bool Engine::State::told_to_end() const {
    return interrupted || readable(run_interrupt_fd);
}

/// To be called while an lcore that was asked is waited for. False: it is lost.
bool Engine::State::keep_waiting(Worker& w) {
    if (w.watch.waited(w.loop->thread()) == LcoreWatch::News::silent)
        tell_of(w, true);
    if (w.watch.silence() >= lcore_patience()) {
        lose(w);
        return false;
    }
    if (w.watch.silent() && surroundings.on_wait && Clock::now() >= next_told_of_waiting) {
        next_told_of_waiting = Clock::now() + kTellWaiting;
        surroundings.on_wait();
    }
    return true;
}

void Engine::State::heard(Worker& w) {
    if (w.watch.answered() == LcoreWatch::News::back)
        tell_of(w, false);
}

void Engine::State::lose(Worker& w) {
    w.lost = true;
    problems.push_back(
        fmt::format("{}; the run ends, and what the lcore did since is not counted", w.watch.sentence()));
    log_error(LogType::runtime, "{}", problems.back());
}

void Engine::State::throw_lost(const Worker& w) const {
    throw LcoreLost(w.watch.name(), "it does not answer, and the run ends");
}

bool Engine::State::any_lost() const {
    return std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w->lost; });
}

bool Engine::State::any_silent() const {
    return std::any_of(workers.begin(), workers.end(),
                       [](const auto& w) { return w->lost || w->watch.silent(); });
}

/// Before anything is changed: a change needs all lcores.
void Engine::State::need_answers() const {
    for (const auto& w : workers)
        if (w->lost || w->watch.silent())
            throw_error(w->watch.sentence(), "nothing is changed before it answers");
}

/// Whether an lcore that polls the port or sends on it is silent.
bool Engine::State::is_silent_on(std::size_t port) const {
    const auto silent = [](const Worker& w) { return w.lost || w.watch.silent(); };
    const std::vector<SendStream*> all = all_sends();
    return std::any_of(all.begin(), all.end(),
                       [&](const SendStream* s) { return s->port == port && silent(*s->worker); }) ||
           std::any_of(queues.begin(), queues.end(), [&](const Queue& q) {
               return q.port == port && (silent(*q.worker) || std::any_of(q.readers.begin(), q.readers.end(),
                                                                          [&](const Queue::Reader& r) {
                                                                              return silent(*r.worker);
                                                                          }));
           });
}

/// The lcore has fallen silent, or is back: its streams stand still, or go on.
void Engine::State::tell_of(const Worker& w, bool silent) {
    const double now = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string what = silent ? w.watch.sentence() : w.watch.end_sentence();
    std::vector<std::string> names;
    for (const auto& stream : streams) {
        if (std::none_of(stream->parts.begin(), stream->parts.end(),
                         [&w](const auto& part) { return part->worker == &w; }))
            continue;
        names.push_back(stream->name);
        const stats::StreamEvent kind = silent ? stats::StreamEvent::stalled : stats::StreamEvent::back;
        stream->past.events[static_cast<std::size_t>(kind)]++;
        stream->last_event = {kind, now, what};
    }
    for (const SendStream* const s : sends_on(w))
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
        for (const auto& w : workers) {
            if (w->layout->lcore != l.lcore)
                continue;
            l.silent_s =
                w->lost || w->watch.silent() ? std::chrono::duration<double>(w->watch.silence()).count() : 0;
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
    for (SendStream* const s : sends_on(w))
        look->sends.push_back({s, s->sender.get(), s->impaired.get(), {}, false});
    return look;
}

/// Brings what the worker's lcore has counted up to date. An lcore that does not answer is left alone once it
/// is known to be silent: the look is taken when it comes back, or makes way for something else.
void Engine::State::look_at(Worker& w, LcoreLook::Depth depth) {
    if (w.lost)
        return;
    using Taken = std::unique_ptr<LcoreLook>;
    const auto take = [](Taken& look) {
        look->take();
        return std::move(look);
    };
    if (depth == LcoreLook::Depth::full_then_forget) {
        keep(w, ask(w, take, look_of(w, depth)));
        return;
    }
    using Call = LcoreCall<decltype(take), Taken>;
    Mailbox& mailbox = w.loop->mailbox();
    if (!mailbox.busy()) {
        std::unique_ptr<LcoreJob> job = std::make_unique<Call>(take, look_of(w, depth));
        static_cast<void>(mailbox.post(job));
    }
    while (!mailbox.wait(w.watch.silent() ? std::chrono::nanoseconds(kGlance) : kSlice))
        if (!keep_waiting(w) || w.watch.silent())
            return;
    heard(w);
    Taken look = static_cast<Call&>(*mailbox.take()).take_result();
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
