// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/end_wait.hpp"

namespace spead::runtime {

std::optional<EndWait::Result> EndWait::round(const EndProgress& now, Clock::time_point time) noexcept {
    const Clock::duration before = all_.total();
    const Clock::duration round = all_.add(time) - before;
    since_.add(time);
    if (!now.blocked)
        own_ += round;
    const bool moved = now.blocked ? now.finished != last_.finished
                                   : now.*limits_.progress != last_.*limits_.progress || now.pacing;
    if (moved || now.blocked != last_.blocked || now.silent)
        since_.restart(time);
    last_ = now;
    if (now.blocked && since_.total() > consumer_patience_)
        return Result::consumer;
    if (!now.blocked && since_.total() > limits_.patience)
        return Result::stuck;
    if (own_ > limits_.longest)
        return Result::too_long;
    return std::nullopt;
}

}  // namespace spead::runtime
