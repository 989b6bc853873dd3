// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lockstep.hpp"

#include <algorithm>
#include <utility>

namespace spead::runtime {

Lockstep::Used Lockstep::begin(Side side, const Used& used, const void* who) noexcept {
    const std::lock_guard lock(mutex_);
    states_[side].used = used;
    const bool joins = other(side).running || states_[side].joins;
    announce_locked(side, false);
    State& their = states_[side == original ? copy : original];
    if (!joins) {
        their.joins = their.announced;
        for (State& s : states_) {
            used_.counts = std::max(used_.counts, s.used.counts);
            used_.data = std::max(used_.data, s.used.data);
            s.ended = false;
            s.index = 0;
        }
    }
    State& mine = states_[side];
    mine.owner.store(who, std::memory_order_relaxed);
    mine.running = true;
    mine.ended = mine.stopping = false;
    mine.index = 0;
    mine.seen.reset();
    return used_;
}

void Lockstep::announce(Side side, bool starts) noexcept {
    const std::lock_guard lock(mutex_);
    announce_locked(side, starts);
}

void Lockstep::announce_locked(Side side, bool starts) noexcept {
    states_[side].announced = starts;
    states_[side].joins = false;
}

std::optional<std::uint64_t> Lockstep::next(Side side, std::uint64_t index, Clock::time_point now) noexcept {
    const std::lock_guard lock(mutex_);
    State& mine = states_[side];
    const std::uint64_t their = other(side).index;
    mine.index = index;
    if (is_left_behind(side, index)) {
        mine.index = their;
        return their;
    }
    if (other(side).ended || index < their || index - their < lead_)
        return index;
    if (mine.seen != their) {
        if (mine.seen && their == *mine.seen + 1)
            mine.step = mine.waited + std::min(now - mine.looked, kRan);
        mine.seen = their;
        mine.since = mine.looked = mine.they_ran = now;
        mine.waited = {};
    }
    if (has_patience(mine, other(side), now))
        return std::nullopt;
    return index;
}

/// Returns whether to wait on for the other side, which has not moved.
bool Lockstep::has_patience(State& mine, const State& their, Clock::time_point now) const noexcept {
    if (const std::uint64_t runs = their.runs.load(std::memory_order_relaxed);
        std::exchange(mine.their_runs, runs) != runs)
        mine.they_ran = now;
    if (now - mine.they_ran <= kRan)
        mine.waited += std::min(now - mine.looked, kRan);
    mine.looked = now;
    const Clock::duration patience = std::max({kPatience, 2 * their.expected, 2 * mine.step});
    return mine.waited < patience && now - mine.since < std::max(kUnseen, patience);
}

void Lockstep::expect(Side side, Clock::duration time) noexcept {
    const std::lock_guard lock(mutex_);
    states_[side].expected = time;
}

void Lockstep::request_stop(Side side, Clock::time_point now, const void* who) noexcept {
    const std::lock_guard lock(mutex_);
    if (!owns(side, who))
        return;
    State& mine = states_[side];
    mine.asked = mine.stopping ? mine.asked : now;
    mine.stopping = true;
}

bool Lockstep::may_end(Side side, std::uint64_t index, Clock::time_point now,
                       const void* who) const noexcept {
    const std::lock_guard lock(mutex_);
    const State& mine = states_[side];
    return !owns(side, who) || index >= other(side).index ||
           (mine.stopping && !other(side).stopping && now - mine.asked >= kPatience);
}

Lockstep::Stops Lockstep::stops(Side side, Clock::time_point since, Clock::time_point now,
                                const void* who) const noexcept {
    const std::lock_guard lock(mutex_);
    if (!owns(side, who))
        return Stops::no;
    const State& their = other(side);
    if (!states_[side].stopping || !their.running || their.stopping)
        return Stops::yes;
    return now - since < kPatience ? Stops::ask_again : Stops::no;
}

void Lockstep::end(Side side, const Used& used, const void* who) noexcept {
    const std::lock_guard lock(mutex_);
    if (!owns(side, who))
        return;
    State& mine = states_[side];
    mine.running = false;
    mine.ended = true;
    mine.used = used;
}

}  // namespace spead::runtime
