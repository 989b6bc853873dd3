// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// What is reported of an lcore that does not answer.
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
    const double now = clock.seconds();
    const std::string what = silent ? w.watch.sentence() : w.watch.end_sentence();
    std::vector<std::string> names = streams.note_silence(w, silent, now, what);
    for (const SendStream* const s : senders.on(w))
        names.push_back(s->plan.name);
    const std::string text =
        silent && !names.empty()
            ? fmt::format("{}; {} stand{} still", what, fmt::join(names, ", "), names.size() == 1 ? "s" : "")
            : what;
    events.report({w.layout->lcore, w.layout->cpu, silent, text, now});
}

void Engine::mark_silent(stats::Snapshot& snapshot) const {
    const State& s = *state_;
    if (s.clock.started() && !s.clock.stopped())
        snapshot.duration_s = s.clock.seconds() - snapshot.cleared_s;
    s.counts.mark_silent(snapshot);
}

}  // namespace spead::runtime
