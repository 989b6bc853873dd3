// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_watch.hpp"

#include <utility>

#include <fmt/core.h>

namespace spead::runtime {

namespace {

double seconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double>(d).count();
}

}  // namespace

LcoreWatch::News LcoreWatch::waited(int thread, Clock::time_point now) {
    if (!std::exchange(waiting_, true)) {
        waited_.restart(now);
        activity_.clear();
        facts_.reset();
        look(thread, now);
        return News::none;
    }
    waited_.add(now);
    if (waited_.total() >= kTell && (!silent_ || now - looked_ >= kLookAgain))
        look(thread, now);
    if (waited_.total() < kTell || silent_)
        return News::none;
    silent_ = true;
    silences_++;
    return News::silent;
}

LcoreWatch::News LcoreWatch::answered() {
    if (!std::exchange(waiting_, false))
        return News::none;
    last_silence_ = waited_.total();
    return std::exchange(silent_, false) ? News::back : News::none;
}

void LcoreWatch::look(int thread, Clock::time_point now) {
    std::optional<ThreadFacts> fresh = thread != 0 ? thread_facts(files_, thread) : std::nullopt;
    if (fresh && facts_)
        activity_ = spead::runtime::activity(
            *facts_, *fresh, now - looked_,
            fresh->state == 'R' ? others_on(files_, fresh->cpu, thread) : std::vector<std::string>());
    facts_ = std::move(fresh);
    looked_ = now;
}

stats::LcoreSnapshot LcoreWatch::snapshot() const {
    stats::LcoreSnapshot l;
    l.lcore = lcore_;
    l.cpu = cpu_;
    l.silent_s = seconds(silence());
    l.activity = activity_;
    return l;
}

std::string LcoreWatch::name() const {
    return snapshot().where();
}

std::string LcoreWatch::sentence() const {
    return snapshot().silence();
}

std::string LcoreWatch::end_sentence() const {
    return fmt::format("{} answers again, after {:.1f} s", name(), seconds(last_silence_));
}

}  // namespace spead::runtime
