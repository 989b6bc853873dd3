// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_watch.hpp"

#include <utility>

#include <fmt/core.h>

namespace spead::runtime {

namespace {

double seconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double>(d).count();
}

}  // namespace

ChannelWatch::Clock::duration ChannelWatch::look(std::uint64_t done, std::uint64_t in_flight,
                                                 Clock::time_point now) {
    const bool waited = std::exchange(waits_, in_flight != 0);
    const bool moved = std::exchange(done_, done) != done;
    if (!waited || !waits_ || moved)
        waited_.restart(now);
    return waited_.add(now);
}

EngineWatch::News EngineWatch::update(Clock::duration quiet, bool failed) {
    failed_ = failed;
    const Clock::duration before = std::exchange(quiet_, quiet);
    if (stalled_ == (quiet >= kTell))
        return News::none;
    stalled_ = !stalled_;
    if (stalled_) {
        stalls_++;
        return News::stalled;
    }
    last_stall_ = before;
    former_stalls_ += before;
    return News::back;
}

stats::EngineSnapshot EngineWatch::snapshot() const {
    stats::EngineSnapshot e;
    e.name = engine_;
    e.quiet_s = seconds(quiet_);
    e.stalled_s = stalled_ ? e.quiet_s : 0;
    e.stalls = stalls_;
    e.all_stalled_s = seconds(former_stalls_) + e.stalled_s;
    return e;
}

std::string EngineWatch::end_sentence() const {
    return fmt::format("the engine `{}` moves payload again, after {:.1f} s", engine_, seconds(last_stall_));
}

}  // namespace spead::runtime
